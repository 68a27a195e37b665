#include <fmt/format.h>

#include "report/end_points.h"
#include "report/epochs.h"
#include "report/markup.h"
#include "report/paper/figures.h"
#include "report/paper/formats.h"

namespace sweetspot::report::paper {
namespace {

// The chart's colours are the variables that svg() reads.
constexpr const char* page_style = R"css(
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

std::string safe(const std::string& text) { return escaped_markup(shown(text)); }

std::string head(const Experiment& experiment) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // No script, no request: the page is text and drawings.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>The paper on this machine: {}</title>\n<style>{}</style>\n</head>\n",
      safe(experiment.workload), page_style);
}

std::string introduction(const Experiment& experiment) {
  std::string devices;
  for (const Device& device : experiment.devices)
    devices += (devices.empty() ? "" : " · ") + safe(device.hardware);
  return fmt::format(
      "<header>\n<p class=\"kind\">sweetspot paper{}</p>\n<h1>The paper on this machine</h1>\n"
      "<p>“Impact of Batch Size on Performance of TensorFlow Based Convolutional Neural Networks” "
      "(D. Campbell) trained a CNN on MNIST at batches 100 to 1000 for one to five epochs on a "
      "desktop (Ryzen 1800X, then 5700X; Radeon RX 6800 XT) and on a cluster (2 × Xeon Gold 6240; "
      "Tesla V100). This page is the same experiment on {}, and a verdict on each of its "
      "claims.</p>\n<p class=\"facts\">{} · {} · {}</p>\n{}</header>\n",
      experiment.quick ? " --quick" : "", devices, safe(experiment.workload),
      safe(experiment.program), safe(experiment.started),
      experiment.message.empty()
          ? ""
          : fmt::format("<p class=\"message\">{}</p>\n", safe(experiment.message)));
}

std::string verdicts(const std::vector<Claim>& claims) {
  std::string rows;
  for (const Claim& claim : claims)
    rows += fmt::format(
        "<tr><td>{}<br><small>{}</small></td><td><span class=\"verdict {}\">{}</span></td>"
        "<td>{}{}</td></tr>\n",
        safe(claim.says), safe(claim.source), name(claim.verdict), words(claim.verdict),
        safe(claim.evidence),
        claim.overhead.empty()
            ? ""
            : fmt::format("<p class=\"overhead\">Why: {}</p>", safe(claim.overhead)));
  return fmt::format(
      "<section aria-labelledby=\"verdicts\">\n<h2 id=\"verdicts\">Its claims</h2>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"verdicts\">\n"
      "<table class=\"claims\"><thead><tr><th scope=\"col\">the paper says</th><th "
      "scope=\"col\">here</th><th scope=\"col\">evidence, with 95% intervals</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table>\n</div>\n</section>\n",
      rows);
}

std::string figure_section(const Figure& figure) {
  std::string charts, quotes;
  for (const std::string& chart : figure.charts) charts += chart + "\n";
  if (charts.empty()) charts = fmt::format("<p class=\"missing\">{}</p>\n", safe(figure.missing));
  for (const Quote& quote : figure.quotes)
    quotes += fmt::format("<h3>{}</h3>\n<blockquote>{}</blockquote>\n", safe(quote.figure),
                          safe(quote.says));
  return fmt::format(
      "<section class=\"figure\">\n<h2>{0}</h2>\n<div class=\"beside\">\n"
      "<figure tabindex=\"0\" aria-label=\"{0}\">\n{1}</figure>\n"
      "<aside>\n<p class=\"kind\">The paper, on its own machines</p>\n{2}</aside>\n</div>\n"
      "</section>\n",
      safe(figure.title), charts, quotes);
}

using CellWords = std::string (*)(const EpochCell&);

std::string matrix(const Device& device, const Experiment& experiment, const std::string& caption,
                   CellWords words_of) {
  std::vector<std::int64_t> epochs;
  std::string titles, rows;
  for (std::int64_t i = 1; i <= experiment.epochs; ++i) {
    epochs.push_back(i);
    titles += fmt::format("<th scope=\"col\">{} epoch{}</th>", i, i == 1 ? "" : "s");
  }
  std::int64_t batch = 0;
  for (const EpochCell& cell : epoch_cells(device.trials, epochs)) {
    if (cell.setting.batch != batch) {
      batch = cell.setting.batch;
      rows += fmt::format("{}<tr><th scope=\"row\">{}</th>", rows.empty() ? "" : "</tr>\n", batch);
    }
    rows += fmt::format("<td>{}</td>", safe(words_of(cell)));
  }
  return fmt::format(
      "<div class=\"scroll\"><table class=\"numbers\"><caption>{}</caption><thead><tr><th "
      "scope=\"col\">batch</th>{}</tr></thead>\n<tbody>{}{}</tbody></table></div>\n",
      safe(caption), titles, rows, rows.empty() ? "" : "</tr>");
}

std::string end_points(const Device& device) {
  std::string rows;
  for (const EndPointRow& row : end_point_rows(device.trials))
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        row.setting.batch, safe(mean_words(row.sharpness)),
                        safe(mean_words(row.train_loss)), safe(mean_words(row.gap)));
  if (rows.empty()) return "";
  return "<div class=\"scroll\"><table class=\"numbers\"><caption>Where training ended, with "
         "dropout off</caption><thead><tr><th scope=\"col\">batch</th><th scope=\"col\">sharpness "
         "(largest eigenvalue of the Hessian)</th><th scope=\"col\">training loss</th><th "
         "scope=\"col\">test loss above it</th></tr></thead>\n<tbody>" +
         rows + "</tbody></table></div>\n";
}

std::string numbers(const Experiment& experiment) {
  std::string out =
      "<section aria-labelledby=\"numbers\">\n<h2 id=\"numbers\">Its numbers here</h2>\n";
  for (const Device& device : experiment.devices) {
    const std::string kind = device.is_gpu() ? "GPU" : "CPU";
    out += matrix(device, experiment, "Training time on the " + kind + ", seconds", seconds_words);
    out += matrix(device, experiment, "Test accuracy on the " + kind + ", %", accuracy_words);
    out += end_points(device);
  }
  return out + "</section>\n";
}

std::string how(const Experiment& experiment) {
  std::string items;
  for (const std::string& sentence : method(experiment))
    items += fmt::format("<li>{}</li>\n", safe(sentence));
  return fmt::format(
      "<section aria-labelledby=\"how\">\n<h2 id=\"how\">How it was done</h2>\n"
      "<ul>\n{}</ul>\n</section>\n",
      items);
}

}  // namespace

std::string html(const Experiment& experiment, const std::vector<Claim>& claims) {
  std::string page =
      head(experiment) + "<body>\n<main>\n" + introduction(experiment) + verdicts(claims);
  for (const Figure& figure : figures(experiment)) page += figure_section(figure);
  return page + numbers(experiment) + how(experiment) + "</main>\n</body>\n</html>\n";
}

}  // namespace sweetspot::report::paper
