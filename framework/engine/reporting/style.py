"""How the HTML report looks: one style sheet, light and dark, on paper and on a phone."""

from __future__ import annotations

from typing import Final

from framework.engine.reporting.markup import Markup

__all__ = ["STYLE"]

STYLE: Final = Markup("""
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1b2430; --soft: #566273; --line: #dde2e9;
  --sunk: #eef1f5; --link: #0b5cad;
  --good: #17703f; --good-bg: #e6f4ec; --bad: #b3261e; --bad-bg: #fcebea;
  --caution: #8a5a00; --caution-bg: #fdf3dc; --aside: #5b4bb0; --aside-bg: #efecfb;
  --null: #d9822b; --distinct: #3b82c4; --time: #7489a5;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161d; --card: #1a212b; --ink: #e4e9f0; --soft: #9ba8b9; --line: #2e3845;
    --sunk: #232c38; --link: #79b8ff;
    --good: #63cf93; --good-bg: #15301f; --bad: #ff8a80; --bad-bg: #3b1a1a;
    --caution: #f2c14e; --caution-bg: #352a10; --aside: #b4a7f5; --aside-bg: #292347;
    --null: #e39a4d; --distinct: #5aa2e0; --time: #8497b0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 var(--sans); overflow-wrap: anywhere; -webkit-text-size-adjust: 100%;
}
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1, h2, h3, p, dl, dd, ul, ol { margin: 0; padding: 0; }
h2 { font-size: 1.2rem; line-height: 1.3; }
section { margin-top: 2.25rem; }
section > p, section > .intro { color: var(--soft); margin-top: .2rem; }
code, pre, .mono { font-family: var(--mono); font-size: .875em; }
pre {
  margin: .6rem 0 0; padding: .7rem .9rem; background: var(--sunk); border-radius: 8px;
  white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.45;
}
pre + p { margin-top: .6rem; }
bdi { unicode-bidi: isolate; }
.verdict code { background: var(--card); border-radius: 4px; padding: .05rem .3rem; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; z-index: 1; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 6px; }

.overline { color: var(--soft); font-size: .95rem; margin-bottom: .6rem; }
.verdict {
  background: var(--card); border: 1px solid var(--line); border-left: 8px solid var(--tone);
  border-radius: 12px; padding: 1.25rem 1.5rem 1.35rem;
}
.verdict h1 {
  display: flex; align-items: center; gap: .6rem; color: var(--tone);
  font-size: 2rem; line-height: 1.2; letter-spacing: -.01em;
}
.verdict h1 svg { flex: none; width: 2rem; height: 2rem; }
.verdict p { margin-top: .55rem; font-size: 1.06rem; max-width: 48rem; }
.verdict .next { background: var(--tone-bg); border-radius: 8px; padding: .55rem .8rem; }
.good { --tone: var(--good); --tone-bg: var(--good-bg); }
.bad, .failed { --tone: var(--bad); --tone-bg: var(--bad-bg); }
.caution, .warned { --tone: var(--caution); --tone-bg: var(--caution-bg); }
.quarantined, .dropped { --tone: var(--aside); --tone-bg: var(--aside-bg); }
.passed { --tone: var(--good); --tone-bg: var(--good-bg); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr));
  gap: .5rem 1.5rem; margin-top: 1rem; padding: 0 .25rem;
}
dt { color: var(--soft); font-size: .82rem; }
dd { font-variant-numeric: tabular-nums; }
.facts dd { font-family: var(--mono); font-size: .85rem; }

.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem 1.25rem; margin-top: .75rem;
}
svg { display: block; width: 100%; height: .75rem; border-radius: 3px; overflow: hidden; }
.track { fill: var(--sunk); }
.f-published { fill: var(--good); } .f-quarantined { fill: var(--aside); }
.f-dropped { fill: var(--caution); }
.f-null { fill: var(--null); } .f-distinct { fill: var(--distinct); } .f-time { fill: var(--time); }
.fate svg { height: 1.4rem; border-radius: 5px; margin-top: .6rem; }
.fate dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr));
  gap: .75rem 1rem; margin-top: .9rem;
}
.fate dd { font-size: 1.35rem; font-weight: 600; line-height: 1.25; }
.fate dt::before {
  content: ""; display: inline-block; width: .65rem; height: .65rem; border-radius: 2px;
  margin-right: .4rem; background: var(--swatch, transparent);
}
.fate .plain dt::before { display: none; }
.s-published { --swatch: var(--good); } .s-quarantined { --swatch: var(--aside); }
.s-dropped { --swatch: var(--caution); }

.checks { list-style: none; }
.checks > li { margin-top: .6rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
details.failed, details.warned { border-color: var(--tone); }
summary {
  display: grid; grid-template-columns: 8.4rem 1fr auto; gap: .1rem .9rem; align-items: baseline;
  padding: .7rem 2.5rem .7rem 1rem; cursor: pointer; border-radius: 12px; list-style: none;
  position: relative;
}
summary::-webkit-details-marker { display: none; }
summary::after {
  content: ""; position: absolute; right: 1.15rem; top: 1.15rem; width: .5rem; height: .5rem;
  border: solid var(--soft); border-width: 0 2px 2px 0; transform: rotate(45deg);
}
details[open] > summary::after { transform: rotate(225deg); top: 1.35rem; }
summary:hover { background: var(--sunk); }
.badge {
  justify-self: start; white-space: nowrap; background: var(--tone-bg); color: var(--tone);
  border-radius: 999px; padding: .05rem .65rem; font-size: .82rem; font-weight: 600;
}
.name { font-weight: 600; }
.count {
  color: var(--soft); font-size: .9rem; font-variant-numeric: tabular-nums; text-align: right;
}
.inside { padding: 0 1rem 1rem; }
.inside > dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr));
  gap: .5rem 1rem; margin-top: .8rem;
}
.note { color: var(--caution); margin-top: .7rem; }
h3 { font-size: .95rem; margin-top: 1.1rem; }
.samples { list-style: none; }
.samples > li { margin-top: .5rem; border: 1px solid var(--line); border-radius: 8px; }
.samples .at {
  background: var(--sunk); padding: .35rem .75rem; font-size: .85rem; border-radius: 7px 7px 0 0;
}
.samples dl {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
  gap: .4rem 1rem; padding: .5rem .75rem .65rem;
}
.samples .long { grid-column: 1 / -1; }
.samples dd { font-family: var(--mono); font-size: .85rem; }
.samples .named { color: var(--bad); font-weight: 600; }
.nothing { color: var(--soft); font-style: italic; }
.redacted {
  color: var(--soft); background: var(--sunk); border-radius: 4px; padding: 0 .35rem;
  font-family: var(--sans); font-size: .78rem;
}
.more { color: var(--soft); font-size: .9rem; margin-top: .5rem; }

table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .5rem .5rem .5rem 0; font-weight: 400; }
tbody tr { border-top: 1px solid var(--line); }
thead th { color: var(--soft); font-size: .82rem; padding-top: 0; }
tbody th { font-weight: 600; }
.kind { display: block; color: var(--soft); font-size: .8rem; font-weight: 400; }
td { font-size: .88rem; font-variant-numeric: tabular-nums; }
td svg { margin-bottom: .25rem; height: .6rem; }
.columns th:first-child { width: 36%; }
.timings th:first-child { width: 30%; } .timings th:last-child { width: 18%; }
.timings th:last-child, .timings td:last-child { text-align: right; padding-right: 0; }
.timings td svg { margin-top: .4rem; }
footer { color: var(--soft); font-size: .85rem; padding-top: 2.5rem; padding-bottom: 3rem; }

@media (max-width: 40rem) {
  main, header, footer { padding-left: .9rem; padding-right: .9rem; }
  header { padding-top: 1.1rem; }
  .verdict { padding: 1rem; border-left-width: 6px; }
  .verdict h1 { font-size: 1.6rem; }
  .facts { grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .5rem 1rem; }
  .inside > dl { grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); }
  .samples dl { grid-template-columns: repeat(auto-fill, minmax(7rem, 1fr)); }
  summary { grid-template-columns: 1fr; }
  .count { text-align: left; }
  .card { padding: .85rem .9rem; }
  .columns th:first-child { width: 38%; }
  .timings th:first-child { width: 38%; } .timings th:last-child { width: 24%; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --sunk: #f0f0f0;
    --good: #17703f; --good-bg: #fff; --bad: #b3261e; --bad-bg: #fff; --caution: #8a5a00;
    --caution-bg: #fff; --aside: #5b4bb0; --aside-bg: #fff;
  }
  body { font-size: 10.5pt; }
  main, header, footer { max-width: none; padding-left: 0; padding-right: 0; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary::after, .skip { display: none; }
  .verdict, .samples > li, tr { break-inside: avoid; }
  h2, h3, summary { break-after: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
""")
