"""The page: self-contained, escaped, complete, and small however long the session."""

from __future__ import annotations

import html
import html.parser
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.profile.timeline import Timeline, Track
from kv260_runtime.report import TIMELINES, timeline_renderer
from kv260_runtime.report.html.drawing import HEIGHT, outline, polyline
from kv260_runtime.report.html.markup import Markup, tag
from kv260_runtime.report.html.scales import ceiling
from telemetry.findings import Finding
from tests.unit.report.sessions import HOSTILE

VOID = {"meta", "br", "hr"}


class Page(html.parser.HTMLParser):
    """The elements of a page; complains if they are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(text)

    def named(self, name):
        return [attributes for element, attributes in self.elements if element == name]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def render(both, **changes):
    result, timeline = both
    return timeline_renderer("html")(replace(result, **changes), timeline)


@pytest.fixture(scope="module")
def text(both):
    return render(both)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_it_asks_nothing_of_the_network(page, text):
    assert not page.named("link") and not page.named("img") and not page.named("iframe")
    assert all("src" not in script for script in page.named("script"))
    assert all(anchor["href"].startswith("#") for anchor in page.named("a"))
    assert not re.search(r"url\(|@import|https?:", text)
    policy = next(meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


def test_links_within_the_page_lead_somewhere(page):
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}

    assert {anchor["href"][1:] for anchor in page.named("a")} <= ids


def test_it_says_that_the_board_was_emulated_and_only_then(page, both):
    said = "Emulated board: no hardware was measured."

    assert said in page.text
    assert said not in Page(render(both, identity={"label": "KV260"})).text


def test_it_shows_every_panel_and_every_run(page):
    titles = [attributes["aria-label"] for attributes in page.named("svg")]

    assert [title.partition(" over time")[0] for title in titles] == [
        "power, som",
        "DPU busy, DPU_1",
        "executions per second",
        "memory",
        "CPU cores",
    ]
    assert "power, som over time: 5.00 to 9.00 W" in titles[0]
    runs = [attributes["title"] for name, attributes in page.elements if name == "i" and "title" in attributes]
    assert [run for run in runs if "kept" in run] == ["A 1, a: kept", "B 1, b: kept", "A 2, a: kept", "B 2, b: kept"]
    assert "A 2′, a: excluded: the worker died" in runs


def test_it_tells_excluded_runs_absences_findings_plan_and_identity(both):
    finding = Finding("late-ticks", "warning", "ticks were late", "leave a core free")
    said = Page(render(both, findings=(finding,))).text

    assert "formal 2, attempt 2: the worker died" in said
    assert "sensor thermal: the worker died" in said
    assert "ticks were late leave a core free" in said
    assert "2 runs of 6 s" in said
    assert "DPUCZDX8G_ISA1_B4096" in said
    assert "∫ P dt over [t_a, t_b] / (b − a)" in said


def test_names_and_reasons_are_text_whatever_they_hold(hostile):
    text = timeline_renderer("html")(*hostile)
    page = Page(text)

    assert len(page.named("script")) == 2, "the reading's data and the reading's script"
    assert "alert(1)" not in re.sub(r'<script type="application/json".*?</script>', "", text).replace(
        "&lt;script&gt;alert(1)&lt;/script&gt;", ""
    ).replace("&lt;/script&gt;&lt;script&gt;alert(1)", "")
    assert HOSTILE in page.text


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_element_escapes_its_text_and_its_attributes(inner, title):
    element = tag("p", inner, title=title)
    found = Page(str(element))

    assert [name for name, _ in found.elements] == ["p"]
    assert isinstance(element, Markup)


@pytest.mark.parametrize("top", [1e-12, 0.00071, 0.9, 1.0, 7.9, 4883.0, 3e9])
def test_an_axis_ends_at_a_round_number_a_little_above_the_data(top):
    assert top <= ceiling(top) * (1 + 1e-9) <= 1.6 * top


@given(st.lists(st.one_of(st.none(), st.floats(0, HEIGHT)), min_size=1, max_size=50))
def test_a_path_goes_through_every_known_bin_and_breaks_at_every_unknown_one(values):
    series = np.array([np.nan if value is None else value for value in values])

    drawn = walk(polyline(series))

    assert drawn.keys() == {place for place, value in enumerate(values) if value is not None}
    assert all(abs(height - values[place]) <= 0.5 for place, height in drawn.items())


def walk(path):
    """The height at each bin of a path of M, l and h commands."""
    found = {}
    for piece in path.split("M")[1:]:
        head, commands = re.fullmatch(r"([\d.]+ -?\d+)(.*)", piece).groups()
        x, y = (float(part) for part in head.split())
        found[round(x - 0.5)] = y
        for command, step, rise in re.findall(r"([lh])(\d+)(?: ?(-?\d+))?", commands):
            for _ in range(int(step)):
                x += 1
                y += int(rise) if command == "l" else 0
                found[round(x - 0.5)] = y
    return found


def test_an_area_is_closed():
    area = outline(np.full(4, 1000.0), np.array([1.0, np.nan, 5.0, 7.0]))

    assert area.count("M") == area.count("z") == 2


def test_a_session_of_nothing_is_a_page_too():
    empty = ProfileResult(session="s.kvs", identity={}, plan={}, models=[], changes=[])

    page = Page(timeline_renderer("html")(empty, Timeline(0, 10**8, 1, (), ())))

    assert "The session holds no samples." in page.text


def test_a_model_without_a_single_kept_run_says_so(both):
    result, timeline = both
    bare = replace(result.models[0], summaries={}, runs=result.models[0].runs[-1:])

    assert "No run deserves a number." in Page(timeline_renderer("html")(replace(result, models=[bare]), timeline)).text


def test_a_track_in_which_nothing_was_seen_draws_nothing(both):
    result, timeline = both
    blind = tuple(Track(one.name, one.unit, np.full(timeline.bins, np.nan)) for one in timeline.tracks)

    page = Page(timeline_renderer("html")(result, replace(timeline, tracks=blind)))

    assert {shape["d"] for shape in page.named("path") if "line" in shape["class"]} == {""}


def test_the_page_is_small_however_long_the_session(text):
    assert len(text) < 300_000
    assert TIMELINES["html"].most_bins <= 1_500


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """<script>
addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(one => !one.closest(".scroll, .plot, .strip, svg")
    && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.tagName + "." + one.className);
  const plots = document.getElementById("plots"), box = plots.getBoundingClientRect();
  plots.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * .3}));
  const read = [document.getElementById("reading"), ...document.querySelectorAll("output")].map(one => one.textContent);
  parent.document.title = [innerWidth, document.documentElement.scrollWidth, wide.join(" "), read.join(";")].join("|");
});
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to lay the page out")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("names", ["short", "long"])
def test_nothing_is_wider_than_the_screen_and_the_pointer_reads_every_panel(both, hostile, width, names, tmp_path):
    """In a frame of that width: a window of Chromium is never narrower than 500 pixels."""
    result, timeline = both if names == "short" else hostile
    inside = html.escape(timeline_renderer("html")(result, timeline).replace("</body>", f"{PROBE}</body>"))
    frame = (
        f'<!doctype html><title>-</title><iframe style="border:0" width={width} height=900 srcdoc="{inside}"></iframe>'
    )
    (tmp_path / "page.html").write_text(frame)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]
    options += [f"--user-data-dir={tmp_path}/profile", "--window-size=1400,1000", "--virtual-time-budget=1000"]

    done = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
    )

    title = re.search(r"<title>(.*?)</title>", done.stdout)[1]
    inner, scroll, wide, read = title.split("|", 3)
    assert (int(inner), int(scroll), wide) == (width, width, "")
    instant, watts, busy, *_ = read.split(";")
    assert re.match(r"\d+\.\d s", instant)
    assert 5 <= float(watts) <= 9 and 0 <= float(busy) <= 100
    assert "CONSOLE" not in done.stderr
