"""Operator types by what they are and who implements them (board.md sections 6.2 and 8)."""

from __future__ import annotations

from kv260_runtime.xmodel.attributes import Value

SOURCES = frozenset({"data", "data-fix", "placeholder"})
CONSTANTS = frozenset({"const", "const-fix"})

CPU_IMPLEMENTED = frozenset({
    "GridAnchor_TRT", "NMS_TRT", "add", "avgpool2d", "batchTilePlugin", "batchnorm", "clamp", "clipped-relu",
    "compare", "concat", "const", "const-fix", "conv2d", "conv2d-fix", "cos", "data", "data-fix", "depthwise-conv2d",
    "depthwise-conv2d-fix", "depthwise-fix", "div", "download", "downsample-fix", "eltwise-fix", "exp", "fix",
    "fix2float", "float2fix", "hard-sigmoid-fix", "l2norm", "leaky-relu", "matmul", "max", "min", "mul",
    "my_normalize", "nn_channel_shuffle", "pad-fix", "pool-fix", "priorbox", "python-cpu-op", "reduce_max",
    "reduction_sum", "region", "reorg-fix", "reshape-fix", "select", "sigmoid", "sin", "softmax", "strided_slice",
    "sub", "tanh", "tile-fix", "topk", "transpose", "transposed-conv2d", "transposed-conv2d-fix",
    "transposed-depthwise-conv2d-fix", "upsample-fix", "voxel_pooling_scatter_sum",
})  # fmt: skip
"""Types with a `libvart_op_imp_TYPE.so` in the released library; others need one of the user's own."""

BUILT_IN = frozenset({
    "add", "argmax", "argmax-fix", "avgpool2d", "batchnorm", "cast", "celu", "concat", "concat-fix", "const",
    "const-fix", "conv1d", "conv2d", "conv2d-fix", "conv3d", "conv3d-fix", "correlation1d_elemwise",
    "correlation1d_elemwise-fix", "correlation2d_elemwise", "correlation2d_elemwise-fix", "cost_volume",
    "cost_volume-fix", "data", "data-fix", "depthwise-conv2d", "depthwise-conv2d-fix", "depthwise-conv3d",
    "depthwise-conv3d-fix", "depthwise-fix", "div", "download", "downsample-fix", "eltwise-fix", "elu", "exp", "fix",
    "fix2float", "flatten", "float2fix", "gelu", "groupnorm", "gstiling", "hard-sigmoid", "hard-sigmoid-fix",
    "hard-softmax", "hard-swish", "hard-tanh", "identity", "inner-product", "instancenorm", "l2_normalize",
    "leaky-relu", "matmul", "max", "maxpool1d", "maxpool2d", "min", "mish", "mul", "neg", "pad", "pad-fix",
    "pixel-shuffle", "pixel-shuffle-fix", "placeholder", "pool-fix", "prelu", "priorbox", "random_standard_normal",
    "reduction_max", "reduction_max-fix", "reduction_mean", "reduction_product", "reduction_sum", "relu", "relu6",
    "reorg", "reorg-fix", "reshape", "reshape-fix", "resize", "scale", "selu", "shape", "sigmoid", "softmax",
    "squeeze", "stack", "strided_slice", "strided_slice-fix", "sub", "swish", "tanh", "threshold", "tile-fix",
    "transpose", "transposed-conv2d", "transposed-conv2d-fix", "transposed-conv3d", "transposed-conv3d-fix",
    "transposed-depthwise-conv2d", "transposed-depthwise-conv2d-fix", "transposed-depthwise-conv3d",
    "transposed-depthwise-conv3d-fix", "upload", "upsample-fix",
})  # fmt: skip
"""Types that XIR itself defines; the vendor's reader takes a file with any other only where it is registered."""

_PLANE = {"dilation": [1, 1], "pad": [0, 0, 0, 0]}
_VOLUME = {"dilation": [1, 1, 1], "pad": [0, 0, 0, 0, 0, 0]}
_NONLINEAR = {"nonlinear": "", "hsigmoid_in": -128, "shift_hsigmoid": -128, "shift_hswish": -128}
_SAMPLING = {"align_corners": False, "half_pixel_centers": False}

DEFAULTS: dict[str, dict[str, Value]] = {
    **{
        f"{prefix}conv{rank}{suffix}": {**space, **(_NONLINEAR if suffix else {})}
        for prefix in ("", "depthwise-", "transposed-", "transposed-depthwise-")
        for rank, space in (("2d", _PLANE), ("3d", _VOLUME))
        for suffix in ("", "-fix")
    },
    "conv1d": {"dilation": [1], "pad": [0, 0]},
    "conv2d": {**_PLANE, "group": 1},
    "conv2d-fix": {**_PLANE, **_NONLINEAR, "group": 1},
    "avgpool2d": {"pad": [0, 0, 0, 0], "global": False, "count_include_pad": True, "count_include_invalid": True},
    "maxpool1d": {"pad": [0, 0], "global": False},
    "maxpool2d": {"pad": [0, 0, 0, 0], "global": False},
    "pool-fix": {"pad": [0, 0, 0, 0]},
    "eltwise-fix": {"nonlinear": "NONE", "type": "ADD"},
    "depthwise-fix": {"type": "MUL"},
    "upsample-fix": _SAMPLING,
    "downsample-fix": _SAMPLING,
    "resize": {**_SAMPLING, "scale": []},
    "priorbox": {"max_sizes": [], "aspect_ratio": []},
    "scale": {"axis": -1},
    "elu": {"alpha": 1.0},
    "celu": {"alpha": 1.0},
    "l2_normalize": {"axis": [], "epsilon": 1e-12},
}
"""Optional attributes by type and the values that XIR 3.5 gives them where a file says nothing."""
