"""From a picture to a model's input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.errors import ExitCode, KvbenchError, ModelRejected
from kv260_runtime.execute.images import BORDER_GREY, Preprocessing, load_image, resized
from kv260_runtime.execute.specs import TensorSpec

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")

RED = np.zeros((4, 8, 3), np.uint8) + np.array([10, 20, 250], np.uint8)
"""Four rows of eight pixels, in OpenCV's order: blue 10, green 20, red 250."""


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "red.png"
    cv2.imwrite(str(path), RED)
    return path


def spec(height: int, width: int, channels: int = 3, fix_point: int | None = 6) -> TensorSpec:
    return TensorSpec("in", (1, height, width, channels), "float32" if fix_point is None else "int8", fix_point)


def test_a_picture_is_read_as_rgb_scaled_and_rounded_half_up(picture: Path) -> None:
    values = load_image(picture, spec(4, 8), Preprocessing())
    assert values.dtype == np.int8
    assert values.shape == (1, 4, 8, 3)
    assert values[0, 0, 0].tolist() == [int(250 / 255 * 64 + 0.5), int(20 / 255 * 64 + 0.5), int(10 / 255 * 64 + 0.5)]


def test_blue_comes_first_if_the_model_wants_it(picture: Path) -> None:
    values = load_image(picture, spec(4, 8, fix_point=0), Preprocessing(scale=(0.5,), bgr=True))
    assert values[0, 0, 0].tolist() == [5, 10, 125]


def test_mean_and_scale_may_differ_between_channels_and_saturate(picture: Path) -> None:
    how = Preprocessing(mean=(50.0, 20.0, 10.0), scale=(1.0, 1.0, -2.0))
    assert load_image(picture, spec(4, 8, fix_point=0), how)[0, 3, 7].tolist() == [127, 0, 0]


def test_letterboxing_keeps_the_shape_and_centres_it_in_grey(picture: Path) -> None:
    values = load_image(picture, spec(8, 8, fix_point=None), Preprocessing(scale=(1.0,)))
    assert values.dtype == np.float32
    grey = [BORDER_GREY] * 3
    assert [values[0, row, 4].tolist() for row in (0, 1, 2, 5, 6, 7)] == [grey] * 2 + [[250, 20, 10]] * 2 + [grey] * 2


def test_stretching_fills_the_input(picture: Path) -> None:
    values = load_image(picture, spec(8, 8, fix_point=None), Preprocessing(scale=(1.0,), letterbox=False))
    assert (values == [250, 20, 10]).all()


def test_a_grey_input_gets_a_grey_picture(picture: Path) -> None:
    values = load_image(picture, spec(4, 8, 1, None), Preprocessing(scale=(1.0,)))
    assert values.shape == (1, 4, 8, 1)
    assert np.ptp(values) == 0
    assert 80 < values[0, 0, 0, 0] < 95


def test_odd_borders_differ_by_one_pixel() -> None:
    framed = resized(np.zeros((2, 5, 3), np.uint8), 5, 5, True)
    assert (framed[:, 0, 0] == BORDER_GREY).tolist() == [True, False, False, True, True]


def test_an_input_that_is_no_picture_is_refused(picture: Path) -> None:
    with pytest.raises(ModelRejected, match=r"input 'in' is \[1, 2, 2, 7\], which no picture fits"):
        load_image(picture, spec(2, 2, 7), Preprocessing())


def test_a_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"not a picture"):
        (tmp_path / "text.jpg").write_bytes(content)
        with pytest.raises(KvbenchError, match=r"is neither an \.npz nor a picture") as refusal:
            load_image(tmp_path / "text.jpg", spec(2, 2), Preprocessing())
        assert refusal.value.exit_code == ExitCode.BAD_DATA


@pytest.mark.parametrize(("rows", "columns"), [(60, 4000), (2000, 20), (1, 3000)])
def test_a_picture_far_narrower_than_the_input_keeps_at_least_a_line(rows: int, columns: int) -> None:
    pixels = np.full((rows, columns, 3), 7, np.uint8)
    framed = resized(pixels, 32, 32, letterbox=True)
    assert framed.shape == (32, 32, 3)
    assert set(np.unique(framed)) == {7, BORDER_GREY}
