#include <fmt/format.h>

#include "report/end_points.h"
#include "report/epochs.h"
#include "report/markup.h"
#include "report/paper/figures.h"
#include "report/paper/formats.h"
#include "report/paper/style.h"

namespace sweetspot::report::paper {
namespace {

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
