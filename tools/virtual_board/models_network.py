"""The layers of a one-class C2f detector (YOLOv8-s widths, ReLU), with its eight channel splits at run time or offline.

Both variants do the same arithmetic. At run time, one projection makes both halves and a slice takes each out
(c2fdeploy.txt, Eq. 31); offline, two projections with the rows of the same weights make a half each (Eq. 32).
"""

from __future__ import annotations

from dataclasses import dataclass

BOX_CHANNELS, CLASS_CHANNELS = 64, 1


@dataclass(frozen=True)
class Layer:
    """One layer and the activation it makes."""

    name: str
    kind: str
    """input, conv, add, concat, maxpool, upsample, slice."""
    inputs: tuple[str, ...]
    shape: tuple[int, int, int]
    """Height, width, channels of the output."""
    kernel: int = 1
    stride: int = 1
    relu: bool = True
    weights: str = ""
    """Name of the weights that a convolution takes its rows from."""
    rows: tuple[int, int] = (0, 0)
    """Range of output channels: of the weights for a convolution, of the input for a slice."""


class Detector:
    """Collects layers in execution order; the methods return the name of the layer they add."""

    def __init__(self, size: int, split_offline: bool) -> None:
        self.layers: dict[str, Layer] = {}
        self.outputs: list[str] = []
        self._split_offline = split_offline
        self._build(self._add(Layer("input", "input", (), (size, size, 3))))

    def _add(self, layer: Layer) -> str:
        self.layers[layer.name] = layer
        return layer.name

    def _conv(
        self, name: str, source: str, channels: int, kernel: int = 1, stride: int = 1, relu: bool = True,
        weights: str = "", first_row: int = 0,
    ) -> str:  # fmt: skip
        height, width, _ = self.layers[source].shape
        shape = (height // stride, width // stride, channels)
        rows = (first_row, first_row + channels)
        return self._add(Layer(name, "conv", (source,), shape, kernel, stride, relu, weights or name, rows))

    def _concat(self, name: str, *sources: str) -> str:
        height, width, _ = self.layers[sources[0]].shape
        channels = sum(self.layers[source].shape[2] for source in sources)
        return self._add(Layer(name, "concat", sources, (height, width, channels)))

    def _upsample(self, name: str, source: str) -> str:
        height, width, channels = self.layers[source].shape
        return self._add(Layer(name, "upsample", (source,), (2 * height, 2 * width, channels)))

    def _split(self, name: str, source: str, half: int) -> list[str]:
        """The projection of a C2f block as two halves of its channels."""
        if self._split_offline:
            return [
                self._conv(f"{name}_cv1_{i}", source, half, weights=f"{name}_cv1", first_row=i * half) for i in (0, 1)
            ]
        whole = self._conv(f"{name}_cv1", source, 2 * half)
        height, width, _ = self.layers[whole].shape
        return [
            self._add(Layer(f"{name}_u{i}", "slice", (whole,), (height, width, half), rows=(i * half, (i + 1) * half)))
            for i in (0, 1)
        ]

    def _c2f(self, name: str, source: str, channels: int, bottlenecks: int = 1, shortcut: bool = False) -> str:
        half = channels // 2
        parts = self._split(name, source, half)
        for index in range(bottlenecks):
            inner = self._conv(f"{name}_m{index}_cv1", parts[-1], half, 3)
            inner = self._conv(f"{name}_m{index}_cv2", inner, half, 3)
            if shortcut:
                inner = self._add(Layer(f"{name}_m{index}_add", "add", (parts[-1], inner), self.layers[inner].shape))
            parts.append(inner)
        return self._conv(f"{name}_cv2", self._concat(f"{name}_cat", *parts), channels)

    def _sppf(self, name: str, source: str, channels: int) -> str:
        parts = [self._conv(f"{name}_cv1", source, channels // 2)]
        for index in range(3):
            shape = self.layers[parts[0]].shape
            parts.append(self._add(Layer(f"{name}_m{index}", "maxpool", (parts[-1],), shape, kernel=5)))
        return self._conv(f"{name}_cv2", self._concat(f"{name}_cat", *parts), channels)

    def _head(self, name: str, source: str) -> None:
        """Box distribution and class score of one scale, joined into one output."""
        branches = []
        for branch, width, channels in (("box", 64, BOX_CHANNELS), ("cls", 128, CLASS_CHANNELS)):
            inner = self._conv(f"{name}_{branch}0", source, width, 3)
            inner = self._conv(f"{name}_{branch}1", inner, width, 3)
            branches.append(self._conv(f"{name}_{branch}2", inner, channels, relu=False))
        self.outputs.append(self._concat(f"{name}_out", *branches))

    def _build(self, image: str) -> None:
        x = self._conv("model_0", image, 32, 3, 2)
        x = self._c2f("model_2", self._conv("model_1", x, 64, 3, 2), 64, 1, shortcut=True)
        eighth = self._c2f("model_4", self._conv("model_3", x, 128, 3, 2), 128, 2, shortcut=True)
        sixteenth = self._c2f("model_6", self._conv("model_5", eighth, 256, 3, 2), 256, 2, shortcut=True)
        x = self._c2f("model_8", self._conv("model_7", sixteenth, 512, 3, 2), 512, 1, shortcut=True)
        deepest = self._sppf("model_9", x, 512)
        x = self._concat("model_11", self._upsample("model_10", deepest), sixteenth)
        middle = self._c2f("model_12", x, 256)
        x = self._concat("model_14", self._upsample("model_13", middle), eighth)
        x = self._c2f("model_15", x, 128)
        self._head("model_22_p3", x)
        x = self._concat("model_17", self._conv("model_16", x, 128, 3, 2), middle)
        x = self._c2f("model_18", x, 256)
        self._head("model_22_p4", x)
        x = self._concat("model_20", self._conv("model_19", x, 256, 3, 2), deepest)
        self._head("model_22_p5", self._c2f("model_21", x, 512))
