#include "report/paper/style.h"

namespace sweetspot::report::paper {

const char* const page_style = R"css(
:root { --ground: #fdfdfc; --ink: #1d1d1b; --quiet: #5d5d58; --line: #dcdcd6; --panel: #f4f4f0;
  --good: #00694d; --bad: #a8380f; --open: #6f5200; --chart-ink: #333; --chart-faint: #dddcd6; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ground: #16181b; --ink: #ececea; --quiet: #a6a6a0; --line: #34373c; --panel: #1f2226;
    --good: #4cc79f; --bad: #ff9166; --open: #e3b94a; --chart-ink: #d5d5d1; --chart-faint: #34373c;
    --chart-1: #56b4e9; --chart-2: #ff8f4d; --chart-3: #2fc79a; --chart-4: #e59cc6;
    --chart-5: #f0b93a; --chart-6: #8fd0f5; --chart-7: #a9a9a9; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 0.75rem; letter-spacing: -0.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 0.95rem; margin: 1rem 0 0.25rem; }
header p { max-width: 52rem; }
.kind { margin: 0; color: var(--quiet); font-size: 0.85rem; }
.facts, small { color: var(--quiet); font-size: 0.85rem; }
.message { color: var(--open); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.5rem 0.9rem 0.5rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { color: var(--quiet); font-weight: 600; font-size: 0.85rem; }
.claims td:first-child { width: 32%; }
.claims td:nth-child(2) { white-space: nowrap; }
.numbers { margin-bottom: 2rem; }
.numbers caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
.numbers th, .numbers td { text-align: right; white-space: nowrap; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--chart-1, #0072b2); outline-offset: 4px; }
.verdict { font-weight: 600; }
.verdict::before { display: inline-block; width: 1.2em; }
.holds { color: var(--good); } .holds::before { content: "✓"; }
.does_not_hold { color: var(--bad); } .does_not_hold::before { content: "✗"; }
.undecided { color: var(--open); } .undecided::before { content: "?"; }
.not_tested { color: var(--quiet); } .not_tested::before { content: "–"; }
.overhead { margin: 0.5rem 0 0; padding-left: 0.75rem; border-left: 3px solid var(--line); }
.beside { display: grid; grid-template-columns: minmax(0, 7fr) minmax(0, 4fr); gap: 2rem; }
figure { margin: 0; overflow-x: auto; }
figure:focus-visible { outline: 2px solid var(--chart-1, #0072b2); outline-offset: 4px; }
figure svg { width: 100%; min-width: 36rem; height: auto; display: block; margin-bottom: 1rem; }
aside { background: var(--panel); padding: 1rem 1.25rem; border-radius: 6px; align-self: start; }
blockquote { margin: 0; }
.missing { color: var(--quiet); border: 1px dashed var(--line); border-radius: 6px; padding: 2rem; }
@media (max-width: 52rem) { .beside { grid-template-columns: minmax(0, 1fr); gap: 1rem; } }
@media (max-width: 40rem) { .claims thead { display: none; }
  .claims, .claims tbody, .claims tr, .claims td { display: block; }
  .claims td, .claims td:first-child { width: auto; border: 0; padding: 0.15rem 0; }
  .claims tr { border-bottom: 1px solid var(--line); padding: 0.5rem 0; } }
@media print { body { font-size: 10pt; } main { padding: 0; max-width: none; }
  .figure, tr, aside { break-inside: avoid; } h2 { break-after: avoid; margin-top: 1.5rem; }
  .scroll, figure { overflow: visible; } figure svg { min-width: 0; max-width: 36rem; } }
)css";

}  // namespace sweetspot::report::paper
