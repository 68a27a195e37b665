#include "report/headline.h"

#include <fmt/format.h>

#include "core/text.h"
#include "report/markup.h"
#include "report/svg.h"

namespace sweetspot::report {
namespace {

// More lines than the palette has colours tell nobody anything.
constexpr std::size_t most_series = 7;

std::string count(double value) { return with_thin_spaces(core::format_count(value)); }

std::optional<std::int64_t> chosen_batch(const Answer& answer) {
  if (answer.recommendation) return answer.recommendation->setting.batch;
  const auto found = measured(answer);
  return found ? std::optional(found->knee_batch) : std::nullopt;
}

std::string description(const Answer& answer) {
  const auto found = measured(answer);
  if (!found) return "";
  return fmt::format(
      "The fastest batch is {} with {} samples per second; the smallest within {:g}% "
      "of it is {} with {}.",
      count(static_cast<double>(found->best_batch)), count(found->best_samples_per_second),
      100 * answer.facts.limits.tolerance, count(static_cast<double>(found->knee_batch)),
      count(found->knee_samples_per_second));
}

}  // namespace

std::string headline_chart(const Answer& answer, const std::vector<Series>& all) {
  SvgChart chart;
  chart.id = "headline";
  chart.title = "Throughput by batch size";
  chart.description = description(answer);
  chart.x.label = "batch (samples per weight update)", chart.x.logarithmic = true;
  chart.y.label = "samples per second";
  bool any = false;
  int colour = 0;
  for (const Series& series : all) {
    if (static_cast<std::size_t>(++colour) > most_series) break;
    SvgSeries fit{"", {}, true, false, true, true, colour}, line;
    for (const Series::Fitted& at : series.fitted)
      fit.points.push_back({static_cast<double>(at.batch), at.samples_per_second.mean,
                            at.samples_per_second.low, at.samples_per_second.high});
    line.colour = colour, line.line = fit.points.empty();
    line.name = all.size() > 1 ? shown(series.name) : "measured, with 95% intervals";
    if (!fit.points.empty() && all.size() == 1) fit.name = "fitted model";
    for (const SeriesPoint& at : series.points) {
      if (!at.samples_per_second) continue;
      const trial::Interval& speed = *at.samples_per_second;
      line.points.push_back({static_cast<double>(at.batch), speed.mean, speed.low, speed.high});
      any = true;
    }
    if (!fit.points.empty()) chart.series.push_back(std::move(fit));
    chart.series.push_back(std::move(line));
  }
  if (const auto chosen = chosen_batch(answer))
    chart.rules.push_back({static_cast<double>(*chosen), true,
                           fmt::format("batch {}", count(static_cast<double>(*chosen)))});
  return any ? svg(chart) : "";
}

}  // namespace sweetspot::report
