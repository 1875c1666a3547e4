"""Pictures fit their screen, whatever its size and whatever is absent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.top.render import as_text, bar, one_line, plain, screen, sparkline
from kv260_runtime.top.view import Sampler, View

FULL = View(
    busy={"DPUCZDX8G_1": 0.912},
    runs_per_second={"DPUCZDX8G_1": 49.0},
    cores={f"cpu{core}": core / 4 for core in range(4)},
    watts={"som": 8.735},
    trends={"som": (4.83, 8.7, 8.735)},
    bytes_per_second={f"{way}.slot{slot}": 1e8 * slot for slot in range(1, 6) for way in ("read", "write")},
    celsius={"apu-thermal": 40.6, "ams.ps_temp": 40.5},
    sampler={"cu": Sampler(991.5, 0.0018), "cpu": Sampler(1.0, 0.0)},
    absent={"gpu": "no such sensor " * 20},
)
EMPTY = View({}, {}, {}, {}, {}, {}, {}, {}, {})


@given(st.integers(40, 200), st.integers(3, 60))
def test_a_picture_never_exceeds_its_screen(width, height):
    for each in (FULL, EMPTY):
        lines = plain(screen(each, "virtual KV260", width, height)).split("\n")
        assert len(lines) <= height
        assert max(map(len, lines)) <= max(width, 72)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_a_usual_screen_has_room_for_everything(width, height):
    text = plain(screen(FULL, "virtual KV260", width, height))
    assert max(map(len, text.split("\n"))) <= width
    for words in ("91.2 %", "49.0 runs/s", "8.735 W", "75.0 %", "1500.0", "apu-thermal 40.6", "cu 991.5 Hz, 1.80 ms"):
        assert words in text
    assert "no gpu: no such sensor" in text


def test_a_low_screen_keeps_the_accelerator_and_the_rail():
    text = plain(screen(FULL, "virtual KV260", 80, 6))
    assert "91.2 %" in text
    assert "8.735 W" in text
    assert "apu-thermal" not in text


@given(st.floats(-1, 2), st.integers(1, 100))
def test_a_bar_is_as_long_as_its_room(share, width):
    assert len(bar(share, width)) == width


def test_a_bar_is_full_at_one_and_empty_at_zero():
    assert (bar(1, 4), bar(0, 4), bar(0.5, 4)) == ("████", "    ", "██  ")


@given(st.lists(st.floats(0, 1000), max_size=100), st.integers(1, 80))
def test_a_sparkline_has_a_mark_for_each_of_the_latest_values(values, width):
    assert len(sparkline(values, width, 0.2)) == min(len(values), width)


def test_a_sparkline_does_not_make_noise_look_like_news():
    assert sparkline([5.00, 5.01, 5.00], 10, 0.2) == "▁▁▁"
    assert sparkline([5.0, 9.0], 10, 0.2) == "▁█"


def test_one_line_for_logs_has_the_sums():
    assert one_line(FULL) == (
        "DPUCZDX8G_1 91.2 %  cores 37.5 %  som 8.73 W  read 1500.0 MB/s  write 1500.0 MB/s  apu-thermal 40.6 °C"
    )
    assert one_line(EMPTY) == "nothing is sampled yet"


def test_the_terminals_text_is_the_plain_one():
    lines = screen(FULL, "virtual KV260", 80, 24)
    assert "\n".join(line.rstrip() for line in as_text(lines).plain.split("\n")) == plain(lines)
