"""The page's looks: light and dark, wide and narrow, screen and paper."""

from __future__ import annotations

COLOURS = """
:root {
  color-scheme: light dark;
  --bg: #fff; --ink: #151a21; --quiet: #5d6673; --rule: #e2e6eb; --wash: #f5f7f9; --tint: .1;
  --m0: #2560c4; --m1: #c9580c; --m2: #157a53; --m3: #8340b8; --m4: #b3264c; --m5: #0c7584; --on: #fff;
  --s0: #3d4b5e; --s1: #8c9db3; --s2: #b98a2f; --s3: #5f8f6a;
  --bad: #b3261e; --warn: #9a5b00; --note: #4a5563; --alarm: #fff3dc; --alarm-ink: #5f3b00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --bg: #11151a; --ink: #e7ebf0; --quiet: #98a3b1; --rule: #29313b; --wash: #191f26; --tint: .17;
    --m0: #7aa7f5; --m1: #f2975a; --m2: #5cc497; --m3: #c08df0; --m4: #f0809c; --m5: #58bdcb; --on: #11151a;
    --s0: #b4c2d3; --s1: #66788f; --s2: #d8b467; --s3: #8fc49c;
    --bad: #ff8a80; --warn: #f0b35a; --note: #a7b2c0; --alarm: #3a2a0c; --alarm-ink: #ffdf9e;
  }
}
.m0 { --m: var(--m0) } .m1 { --m: var(--m1) } .m2 { --m: var(--m2) }
.m3 { --m: var(--m3) } .m4 { --m: var(--m4) } .m5 { --m: var(--m5) }
.s0 { --s: var(--s0) } .s1 { --s: var(--s1) } .s2 { --s: var(--s2) } .s3 { --s: var(--s3) }
"""

TEXT = """
* { box-sizing: border-box; margin: 0 }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem }
body {
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  background: var(--bg); color: var(--ink); overflow-wrap: anywhere;
}
main { max-width: 72rem; margin: 0 auto; padding: clamp(1.25rem, 4vw, 3rem) clamp(1rem, 4vw, 2.5rem) }
h1 { font-size: clamp(1.55rem, 1.1rem + 2vw, 2.3rem); line-height: 1.15; letter-spacing: -.02em; font-weight: 650 }
h2 { font-size: 1.25rem; letter-spacing: -.01em; font-weight: 650; margin-bottom: 1rem }
h3 { font-size: .95rem; font-weight: 650; margin-bottom: .5rem }
section { margin-top: 3.25rem }
section h3:not(:first-child), .scroll + h3, dl + h3 { margin-top: 1.75rem }
small { font-size: .8em; color: var(--quiet); font-weight: 400 }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .9em }
.eyebrow { font-size: .82rem; color: var(--quiet); margin-bottom: .6rem }
.lede { margin-top: .8rem; color: var(--quiet); max-width: 62rem }
.quiet { font-size: .85rem; color: var(--quiet) }
.emulated {
  margin-top: 1.1rem; padding: .7rem .9rem; border-radius: .4rem; font-size: .9rem;
  background: var(--alarm); color: var(--alarm-ink);
}
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin-top: 1.2rem; font-size: .88rem }
nav a { color: var(--quiet); text-decoration: none; border-bottom: 1px solid var(--rule) }
nav a:hover { color: var(--ink); border-color: currentColor }
footer {
  margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .85rem; color: var(--quiet);
}
.chip {
  display: inline-block; min-width: 1.35em; padding: 0 .3em; border-radius: .3em; text-align: center;
  font-size: .82em; line-height: 1.45; font-weight: 650; background: var(--m); color: var(--on);
}
"""

CARDS = """
.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem;
  margin-top: 2rem;
}
.card { padding: 1.1rem 1.2rem 1.2rem; border-radius: .5rem; background: var(--wash); border-top: 3px solid var(--m) }
.card h3 { display: flex; gap: .5rem; align-items: baseline }
.big { font-size: 1.15rem; line-height: 1.2; font-variant-numeric: tabular-nums; color: var(--quiet) }
.big b { font-size: 2.5rem; font-weight: 650; letter-spacing: -.03em; color: var(--ink) }
.rate { margin-bottom: 1.1rem }
.big.none { color: var(--bad); padding: 1rem 0 }
.bar { margin: .9rem 0 1.1rem }
.bar > i {
  display: block; height: .7rem; min-width: 2px; border-radius: .2rem; background: var(--rule); overflow: hidden;
}
.bar > i > i { display: block; height: 100%; background: var(--m) }
.bar p { margin-top: .3rem }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.2rem, 1fr)); gap: .7rem .9rem }
.facts dd { font-size: 1.1rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.25 }
.facts dt { font-size: .78rem; color: var(--quiet) }
"""

TABLES = """
.scroll { overflow-x: auto; overscroll-behavior-x: contain }
table { border-collapse: separate; border-spacing: 0; width: 100%; overflow-wrap: normal; font-size: .9rem }
table { font-variant-numeric: tabular-nums }
th, td { padding: .38rem .7rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--rule) }
th { font-weight: 600 }
th:first-child { text-align: left; padding-left: 0 }
tbody th { font-weight: 400; min-width: 7rem }
thead th { font-size: .82rem; vertical-align: bottom; overflow-wrap: normal }
thead th small { display: block }
thead th span { margin-left: .4rem; overflow-wrap: anywhere }
tbody th small { margin-left: .45em }
td { white-space: nowrap }
td.words { white-space: normal; text-align: left; min-width: 11rem; overflow-wrap: break-word }
th:last-child { text-align: right }
.runs th:last-child { text-align: left }
.sd, .change, .part th, .part td { color: var(--quiet) }
.part th { padding-left: 1.1rem }
.uncounted td, .uncounted th { color: var(--quiet) }
.uncounted td:not(.words) { opacity: .6 }
.runs { font-size: .84rem }
.runs tbody th { min-width: 0 }
.runs th, .runs td { padding: .34rem .55rem }
.runs th:first-child {
  position: sticky; left: 0; background: var(--bg); white-space: nowrap; padding-left: 0; z-index: 1;
}
"""

PLOTS = """
.timeline { position: relative; touch-action: pan-y }
.reading {
  font-size: .85rem; color: var(--quiet); height: 1.5em; overflow: hidden; font-variant-numeric: tabular-nums;
}
.strip { position: relative; height: 1.5rem; border-radius: .25rem; background: var(--wash); overflow: hidden }
.strip > i { position: absolute; top: 0; bottom: 0 }
i.idle { background: var(--rule) }
i.run { background: var(--m); color: var(--on); container-type: inline-size; overflow: hidden; text-align: center }
i.run span { font: 600 .75rem/1.5rem system-ui, sans-serif; white-space: nowrap }
@container (max-width: 1.9em) { i.run span { display: none } }
i.run.smoke { opacity: .45 }
i.run.excluded {
  background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 6px); color: var(--bad);
}
i.run.excluded span { background: var(--wash); padding: 0 .2em; border-radius: .2em }
figure { margin: 0 }
.timeline figure { margin-top: .9rem }
figcaption {
  display: flex; flex-wrap: wrap; gap: 0 .55rem; align-items: baseline; font-size: .85rem; line-height: 1.6;
}
figcaption b { font-weight: 600 }
figcaption .unit { color: var(--quiet) }
figcaption .name { color: var(--quiet); font-size: .8rem }
figcaption .name::before {
  content: ""; display: inline-block; width: .7em; height: .7em; border-radius: .15em; margin-right: .3em;
  background: var(--s);
}
figcaption output { margin-left: auto; font-variant-numeric: tabular-nums; font-weight: 600; font-size: .8rem }
.plot { position: relative; height: 4.75rem; background: var(--wash); border-radius: .2rem; overflow: hidden }
.plot.lanes { height: 5.5rem }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block }
.plot path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round }
.plot .line { stroke: var(--s); stroke-width: 1.25 }
.plot .fill { fill: var(--s); fill-opacity: .13 }
.plot .fill.strong { fill-opacity: .55 }
.plot .range { fill: var(--s); fill-opacity: .28 }
.plot .grid { stroke: var(--rule); stroke-width: 1 }
.plot .tint { fill: var(--m); fill-opacity: var(--tint) }
.plot span {
  position: absolute; left: .25rem; font-size: .68rem; line-height: 1; color: var(--quiet);
  font-variant-numeric: tabular-nums;
  padding: .08rem .15rem; border-radius: .15rem; background: color-mix(in srgb, var(--wash) 72%, transparent);
}
.plot .top { top: .25rem } .plot .middle { top: calc(50% - .35rem) } .plot .bottom { bottom: .25rem }
.plot .lane { margin-top: .3rem }
.axis {
  position: relative; height: 1.4rem; font-size: .72rem; color: var(--quiet); font-variant-numeric: tabular-nums;
}
.axis span {
  position: absolute; top: .2rem; padding-left: .25rem; border-left: 1px solid var(--rule); white-space: nowrap;
}
.cursor {
  position: absolute; top: 1.3rem; bottom: 1.4rem; width: 0; border-left: 1px solid var(--ink); opacity: 0;
  pointer-events: none;
}
.read .cursor { opacity: .55 }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; margin: .4rem 0 }
.legend i {
  display: inline-block; width: 1.4em; height: .75em; border-radius: .15em; vertical-align: baseline;
  container-type: normal;
}
.spreads {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); gap: 1.2rem;
  margin-bottom: .5rem;
}
.spreads + p { margin-bottom: 1.5rem }
.dots { position: relative; height: 7rem; margin: .2rem 0 0 4.9rem; background: var(--wash); border-radius: .2rem }
.dots span { position: absolute; right: calc(100% + .4rem); white-space: nowrap; font-size: .68rem; line-height: 1 }
.dots span { color: var(--quiet) }
.dots .top { top: .3rem } .dots .bottom { bottom: .3rem }
.dots .mean { position: absolute; left: 0; right: 0; top: 50%; border-top: 1px solid var(--rule) }
.dot { position: absolute; width: .6rem; height: .6rem; margin: -.3rem; border-radius: 50%; background: var(--m) }
.spreads .legend { gap: .1rem .8rem; font-size: .8rem; color: var(--quiet) }
"""

NOTES = """
ul { list-style: none; padding: 0 }
.findings li { display: flex; gap: .9rem; padding: .7rem 0; border-top: 1px solid var(--rule) }
.findings li:last-child, .reasons li:last-child { border-bottom: 1px solid var(--rule) }
.findings b { flex: 0 0 4.4rem; font-size: .82rem; line-height: 1.85; font-weight: 650 }
.findings b.error { color: var(--bad) }
.findings b.warning { color: var(--warn) }
.findings b.info { color: var(--note) }
.findings p { font-size: .93rem }
.findings span { display: block; color: var(--quiet); font-size: .88rem }
.reasons li { padding: .45rem 0; border-top: 1px solid var(--rule); font-size: .9rem }
.reasons span { color: var(--quiet) }
.terms div {
  display: grid; grid-template-columns: minmax(7rem, 15rem) 1fr; gap: 0 1.2rem; padding: .35rem 0;
  border-top: 1px solid var(--rule);
}
.terms dt { font-size: .87rem; color: var(--quiet); overflow-wrap: break-word }
.terms dd { font-size: .87rem }
.terms dd small { display: block }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.8rem 2.5rem }
h4 { font-size: .9rem; font-weight: 600; margin-bottom: .35rem }
#uncertainty > p:first-of-type { max-width: 48rem; font-size: .93rem; margin-bottom: 1rem }
.budget { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 29rem), 1fr)); gap: 0 2.5rem }
.budget li { padding: .55rem 0 .4rem; border-top: 1px solid var(--rule) }
.budget p { font-size: .88rem; font-variant-numeric: tabular-nums }
.budget p > span { color: var(--quiet) }
.shares { display: flex; height: .55rem; margin: .35rem 0 .2rem; border-radius: .2rem; overflow: hidden; gap: 1px }
.shares i { min-width: 1px }
.budget .legend { gap: .1rem 1.1rem; margin: .1rem 0; font-size: .8rem }
.budget .legend i { width: .7em; height: .7em; border-radius: .15em }
.c0 { background: var(--s0) } .c1 { background: var(--s1) } .c2 { background: var(--s2) } .c3 { background: var(--s3) }
.c4 { background: var(--m3) } .c5 { background: var(--m5) }
"""

NARROW = """
@media screen and (max-width: 40rem) {
  section { margin-top: 2.5rem }
  .axis .minor { display: none }
  .figures, .figures thead, .figures tbody { display: block }
  .figures tr { display: flex; flex-wrap: wrap; padding: .45rem 0; border-bottom: 1px solid var(--rule) }
  .figures th, .figures td { border: 0; padding: 0 .3rem 0 0; flex: 1 1 0; min-width: 0; text-align: left }
  .figures td { white-space: normal; overflow-wrap: anywhere }
  .figures th[scope=row] { flex-basis: 100%; font-size: .82rem; color: var(--quiet) }
  .figures .part th[scope=row] { padding-left: 0; font-style: italic }
  .figures .part td { font-size: .85rem }
  .figures .part td { padding-left: 0 }
  .figures thead th:first-child, .figures thead th span { display: none }
  .figures thead { position: sticky; top: 0; background: var(--bg); z-index: 1 }
  .figures th[scope=row] { overflow-wrap: anywhere }
  .intervals thead { display: none }
  .intervals td { flex: 0 0 50%; white-space: normal }
  .intervals td::before { content: attr(data-of) " "; font-weight: 650; color: var(--quiet) }
  .sd { display: block; font-size: .78rem }
  .findings li { display: block }
  .terms div { grid-template-columns: 1fr; gap: 0 }
  .big b { font-size: 2.2rem }
  .dots { height: 5.5rem }
}
"""

PAPER = """
@page { margin: 14mm }
@media print {
  body { font-size: 9.5pt; -webkit-print-color-adjust: exact; print-color-adjust: exact }
  main { max-width: none; padding: 0 }
  nav, .reading, .cursor, output { display: none }
  section { margin-top: 1.6rem }
  h2, h3, thead { break-after: avoid }
  .card, figure, tr, li, .terms div { break-inside: avoid }
  .scroll { overflow: visible }
  .spreads { grid-template-columns: repeat(4, 1fr); gap: .8rem }
  .dots { height: 4.5rem; margin-left: 0 }
  .dots span { left: .2rem; right: auto }
  .columns, .budget { grid-template-columns: 1fr 1fr; gap: .6rem 1.6rem }
  .columns .terms div { grid-template-columns: 7.5rem 1fr; gap: 0 .6rem }
  .terms dt, .terms dd { font-size: 8pt }
  td.words { white-space: normal }
  .runs { font-size: 7pt } .runs th, .runs td { padding: .2rem .3rem } .runs th:first-child { position: static }
  td.words { min-width: 0 }
}
"""

STYLE = "\n".join(
    line.strip()
    for part in (COLOURS, TEXT, CARDS, TABLES, PLOTS, NOTES, NARROW, PAPER)
    for line in part.strip().splitlines()
)
