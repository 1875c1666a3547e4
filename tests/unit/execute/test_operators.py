"""Each of the DPU's other operators against its definition, and those of the CPU against numpy."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import open_executor
from kv260_runtime.execute.operators.pooling import average_factor
from tests.unit.execute.graphs import Array, Builder, int8
from tests.unit.execute.running import run_everywhere

CODES = np.arange(256).astype(np.uint8).view(np.int8).reshape(1, 16, 16, 1)
"""Every int8 once."""


def rounded(value: Fraction) -> int:
    """r(x) of xmodel_execution.md."""
    return max(-128, min(127, floor(value + Fraction(1, 2))))


@pytest.mark.parametrize(
    ("kernel", "factor"),
    [
        ((2, 2), (1, 2)), ((3, 3), (7, 6)), ((4, 4), (1, 4)), ((5, 5), (10, 8)), ((6, 6), (7, 8)), ((7, 7), (21, 10)),
        ((8, 8), (1, 6)), ((9, 9), (101, 13)), ((10, 10), (41, 12)), ((12, 12), (57, 13)), ((14, 14), (21, 12)),
        ((16, 16), (1, 8)), ((1, 7), (73, 9)), ((3, 6), (57, 10)), ((2, 3), (85, 9)), ((7, 8), (73, 12)),
        ((13, 13), (97, 14)), ((20, 20), (41, 14)),
    ],
)  # fmt: skip
def test_averages_multiply_by_the_fractions_of_the_dpu(kernel: tuple[int, int], factor: tuple[int, int]) -> None:
    """The table of board.md section 7, as evaluated from the vendor's function."""
    assert average_factor(kernel) == factor


@pytest.mark.parametrize(("points", "kernel"), [((6, 6), 3), ((5, 7), 2), ((4, 2), 4)])
def test_average_pooling_rounds_once(points: tuple[int, int], kernel: int) -> None:
    image = int8(np.random.default_rng(1), (1, 8, 8, 3))
    numerator, bits = average_factor((kernel, kernel))
    size = 8 // kernel
    expected = np.empty((1, size, size, 3), np.int8)
    for y, x, c in np.ndindex(size, size, 3):
        total = int(image[0, y * kernel : (y + 1) * kernel, x * kernel : (x + 1) * kernel, c].astype(int).sum())
        expected[0, y, x, c] = rounded(Fraction(total * numerator, 2**bits) * Fraction(2) ** (points[1] - points[0]))
    graph = Builder()
    graph.input(image.shape, points[0])
    window = {"kernel": [kernel] * 2, "stride": [kernel] * 2, "pad": [0] * 4}
    graph.add("y", "pool-fix", expected.shape, {"input": ["x"]}, points[1], type="AVG", **window)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], expected)


@pytest.mark.parametrize("points", [(5, 5), (5, 3), (3, 4)])
def test_max_pooling_sees_a_border_of_the_smallest_value(points: tuple[int, int]) -> None:
    image = int8(np.random.default_rng(2), (1, 5, 6, 2)) // 2 - 64
    padded = np.pad(image[0].astype(int), ((1, 0), (0, 1), (0, 0)), constant_values=-128)
    expected = np.empty((1, 4, 5, 2), np.int8)
    for y, x, c in np.ndindex(4, 5, 2):
        best = int(padded[y : y + 3, x : x + 3, c].max())
        expected[0, y, x, c] = rounded(best * Fraction(2) ** (points[1] - points[0]))
    graph = Builder()
    graph.input(image.shape, points[0])
    window = {"kernel": [3, 3], "stride": [1, 1], "pad": [0, 1, 1, 0]}
    graph.add("y", "pool-fix", expected.shape, {"input": ["x"]}, points[1], type="MAX", **window)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image.astype(np.int8)})["y"], expected)


@pytest.mark.parametrize("nonlinear", ["NONE", "RELU"])
@pytest.mark.parametrize("points", [(4, 4, 4), (6, 4, 3), (3, 12, 3), (4, 5, 6), (10, 4, 5), (2, 2, 1)])
def test_a_sum_cuts_bits_off_below_the_seventh_and_rounds_once(points: tuple[int, int, int], nonlinear: str) -> None:
    random = np.random.default_rng(3)
    a, b = int8(random, (1, 4, 4, 3)), int8(random, (1, 4, 4, 3))
    coarsest = min(points[:2])
    expected = np.empty(a.shape, np.int8)
    for index in np.ndindex(a.shape):
        total = Fraction(0)
        for values, point in ((a, points[0]), (b, points[1])):
            total += Fraction(floor(int(values[index]) * Fraction(2) ** (7 - (point - coarsest))), 2**7)
        total = max(total, Fraction(0)) if nonlinear == "RELU" else total
        expected[index] = rounded(total / Fraction(2) ** (coarsest - points[2]))
    graph = Builder()
    graph.input(a.shape, points[0], "a")
    graph.input(b.shape, points[1], "b")
    graph.add("y", "eltwise-fix", a.shape, {"input": ["a", "b"]}, points[2], type="ADD", nonlinear=nonlinear)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"a": a, "b": b})["y"], expected)


@pytest.mark.parametrize("points", [(5, 3), (3, 3), (3, 5)])
def test_a_sum_of_one_input_requantises(points: tuple[int, int]) -> None:
    graph = Builder()
    graph.input(CODES.shape, points[0])
    graph.add("y", "eltwise-fix", CODES.shape, {"input": ["x"]}, points[1], type="ADD", nonlinear="NONE")
    expected = [rounded(int(code) * Fraction(2) ** (points[1] - points[0])) for code in CODES.ravel()]
    assert run_everywhere(graph.graph(), {"x": CODES})["y"].ravel().tolist() == expected


@pytest.mark.parametrize(("op_type", "shape"), [("eltwise-fix", (1, 4, 4, 3)), ("depthwise-fix", (1, 1, 1, 3))])
@pytest.mark.parametrize("point", [2, 7, 12])
def test_a_product_is_exact_until_its_one_rounding(op_type: str, shape: tuple[int, ...], point: int) -> None:
    random = np.random.default_rng(4)
    a, b = int8(random, shape), int8(random, (1, 4, 4, 3), extreme=True)
    products = a.astype(int) * b
    expected = np.array([rounded(int(value) / Fraction(2) ** (9 - point)) for value in products.ravel()], np.int8)
    graph = Builder()
    graph.input(a.shape, 5, "a")
    graph.input(b.shape, 4, "b")
    graph.add("y", op_type, b.shape, {"input": ["a", "b"]}, point, type="MUL")
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"a": a, "b": b})["y"].ravel(), expected)


@pytest.mark.parametrize(("inside", "shift"), [(2, 9), (6, 13), (7, 14), (10, 17), (12, 19)])
def test_a_hard_sigmoid_is_right_for_every_code(inside: int, shift: int) -> None:
    """The last has a line beyond 2 ** 24, where float32 would not do."""
    graph = Builder()
    graph.input(CODES.shape, inside)
    graph.add("y", "hard-sigmoid-fix", CODES.shape, {"input": ["x"]}, 7, hsigmoid_in=inside, shift_hsigmoid=shift)
    lines = [min(2**32, max(0, int(code) * 2731 + 3 * 2731 * 2**inside)) for code in CODES.ravel()]
    expected = [rounded(Fraction(line, 2**shift)) for line in lines]
    assert run_everywhere(graph.graph(), {"x": CODES})["y"].ravel().tolist() == expected


@pytest.mark.parametrize("axis", [1, 2, 3, -1])
def test_concatenation_requantises_inputs_of_another_fix_point(axis: int) -> None:
    random = np.random.default_rng(5)
    a, b = int8(random, (1, 3, 3, 3)), int8(random, (1, 3, 3, 3))
    coarser = np.array([rounded(Fraction(int(value), 4)) for value in b.ravel()], np.int8).reshape(b.shape)
    expected = np.concatenate([a, coarser], axis)
    graph = Builder()
    graph.input(a.shape, 3, "a")
    graph.input(b.shape, 5, "b")
    graph.add("y", "concat-fix", expected.shape, {"input": ["a", "b"]}, 3, axis=axis)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"a": a, "b": b})["y"], expected)


def test_reshaping_keeps_the_order_of_the_file_whatever_the_library_prefers() -> None:
    """Channels last before and after a convolution has put them first."""
    random = np.random.default_rng(6)
    image = int8(random, (1, 2, 3, 4))
    graph = Builder()
    graph.input(image.shape, 5)
    graph.add("m", "pool-fix", (1, 2, 3, 4), {"input": ["x"]}, 5, type="MAX", kernel=[1, 1], stride=[1, 1], pad=[0] * 4)
    graph.add("r", "reshape-fix", (1, 4, 6), {"input": ["m"]}, 5, shape=[1, 4, 6])
    graph.add("y", "reshape-fix", (1, 3, 2, 4), {"input": ["r"]}, 5, shape=[1, 3, 2, 4])
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], image.reshape(1, 3, 2, 4))


@pytest.mark.parametrize("point", [4, 3])
def test_nearest_upsampling_repeats_pixels(point: int) -> None:
    image = int8(np.random.default_rng(7), (1, 2, 3, 2))
    graph = Builder()
    graph.input(image.shape, 4)
    graph.add("y", "upsample-fix", (1, 4, 9, 2), {"input": ["x"]}, point, mode="NEAREST", scale=[3.0, 2.0])
    wanted = np.array([rounded(int(code) / Fraction(2) ** (4 - point)) for code in image.ravel()], np.int8)
    expected = wanted.reshape(image.shape).repeat(2, 1).repeat(3, 2)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], expected)


def run_floats(op_type: str, shape: tuple[int, ...], inputs: list[Array], **attrs: object) -> Array:
    """One float operator in the integer backend, on float inputs."""
    graph = Builder()
    names = [graph.add(f"i{index}", "data", values.shape) for index, values in enumerate(inputs)]
    graph.add("y", op_type, shape, {"input": names}, **attrs)
    feed = {f"{name}_fix": values.astype(np.float32) for name, values in zip(names, inputs, strict=True)}
    return open_executor(graph.graph(), backend="integer").run(feed)["y_fix"]


@pytest.mark.parametrize(
    ("op_type", "function"),
    [
        ("relu", lambda x: np.maximum(x, 0)),
        ("relu6", lambda x: np.clip(x, 0, 6)),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("tanh", np.tanh),
        ("exp", np.exp),
        ("hard-sigmoid", lambda x: np.clip(x + 3, 0, 6) * (2731 / 16384)),
        ("hard-swish", lambda x: x * np.clip(x + 3, 0, 6) * (2731 / 16384)),
    ],
)
def test_activations_of_the_cpu(op_type: str, function: object) -> None:
    values = np.linspace(-8, 8, 60).astype(np.float32).reshape(3, 20)
    got = run_floats(op_type, values.shape, [values])
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, function(values.astype(np.float64)).astype(np.float32))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("op_type", "function"),
    [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide), ("min", np.minimum)],
)
def test_arithmetic_of_the_cpu_broadcasts(op_type: str, function: np.ufunc) -> None:
    a, b = np.arange(1, 7, dtype=np.float32).reshape(2, 3), np.array([[2.0, 3.0, 7.0]], np.float32)
    np.testing.assert_array_equal(run_floats(op_type, (2, 3), [a, b]), function(a, b))


def test_softmax_sums_to_one_and_survives_large_values() -> None:
    values = np.array([[1000, 1001, 999], [0, 0, 0]], np.float32)
    got = run_floats("softmax", (2, 3), [values], axis=-1)
    np.testing.assert_allclose(got.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(got[0], np.exp([0, 1, -1]) / np.exp([0, 1, -1]).sum(), atol=1e-6)


def test_movements_of_the_cpu() -> None:
    values = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    moved = values.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(run_floats("transpose", moved.shape, [values], order=[0, 3, 1, 2]), moved)
    cut = run_floats(
        "strided_slice", (1, 2, 2, 2), [values], begin=[0, 0, 0, 1], end=[1, 2, 3, 4], strides=[1, 1, 2, 2]
    )
    np.testing.assert_array_equal(cut, values[:, :, ::2, 1::2])
    joined = run_floats("concat", (1, 2, 3, 8), [values, values + 1], axis=3)
    np.testing.assert_array_equal(joined, np.concatenate([values, values + 1], 3))
    np.testing.assert_array_equal(run_floats("flatten", (1, 24), [values]), values.reshape(1, 24))
    np.testing.assert_array_equal(
        run_floats("stack", (2, 1, 24), [values.reshape(1, 24)] * 2, axis=0)[1, 0], values.ravel()
    )


def test_pooling_of_quantised_files() -> None:
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    window = {"kernel": [2, 2], "stride": [2, 2], "pad": [0, 0, 0, 0]}
    assert run_floats("maxpool2d", (1, 2, 2, 1), [image], **window).ravel().tolist() == [5, 7, 13, 15]
    assert run_floats("avgpool2d", (1, 2, 2, 1), [image], **window).ravel().tolist() == [2.5, 4.5, 10.5, 12.5]
    everything = {**window, "global": True}
    assert run_floats("avgpool2d", (1, 1, 1, 1), [image], **everything).ravel().tolist() == [7.5]


def test_fixed_point_goes_to_float_and_back() -> None:
    graph = Builder()
    graph.input(CODES.shape, 3)
    graph.add("f", "fix2float", CODES.shape, {"input": ["x"]}, None, fix_point=3, bit_width=8)
    graph.add("y", "float2fix", CODES.shape, {"input": ["f"]}, 2, fix_point=2, bit_width=8, round_mode="DPU_ROUND")
    expected = [rounded(Fraction(int(code), 2)) for code in CODES.ravel()]
    assert run_everywhere(graph.graph(), {"x": CODES})["y"].ravel().tolist() == expected


@pytest.mark.parametrize("wrong", [{"round_mode": "STD_ROUND"}, {"bit_width": 4}, {"if_signed": False}])
def test_fix_with_another_rounding_or_width_is_refused(wrong: dict[str, object]) -> None:
    values = np.zeros((1, 4), np.float32)
    attrs = {"fix_point": 3, "bit_width": 8, "if_signed": True, "round_mode": "DPU_ROUND", **wrong}
    with pytest.raises(ModelRejected, match=r"operator 'y' \(fix\)"):
        run_floats("fix", (1, 4), [values], **attrs)


@pytest.mark.parametrize(
    ("op_type", "attrs"),
    [
        ("transpose", {"order": [0, 0]}),
        ("concat", {"axis": 2}),
        ("strided_slice", {"begin": [0, 0], "end": [1, 1]}),
        ("reshape", {}),
        ("sigmoid", {}),
    ],
)
def test_a_movement_that_does_not_give_its_tensor_is_refused(op_type: str, attrs: dict[str, object]) -> None:
    """The tensor claims [1, 5]; the inputs hold four values."""
    with pytest.raises(ModelRejected, match=rf"operator 'y' \({op_type}\)"):
        run_floats(op_type, (1, 5), [np.zeros((1, 4), np.float32)], **attrs)
