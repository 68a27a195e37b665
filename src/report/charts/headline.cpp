#include "report/charts/headline.h"

#include <fmt/format.h>

#include "core/text.h"
#include "report/charts/svg.h"
#include "report/markup.h"
#include "report/speeds.h"

namespace sweetspot::report {
namespace {

// More lines than the palette has colours are unreadable.
constexpr std::size_t most_series = 7;

std::string count(double value) { return with_thin_spaces(core::format_count(value)); }

std::string description(const ShownStudy& study, const std::optional<Measured>& found) {
  if (study.recommendation()) return advise::sentence(*study.recommendation());
  if (!found) return "";
  return fmt::format(
      "The fastest batch is {} with {} samples per second; the smallest within {:g}% "
      "of it is {} with {}.",
      count(static_cast<double>(found->best_batch)), count(found->best_samples_per_second),
      100 * study.facts.limits.tolerance, count(static_cast<double>(found->knee_batch)),
      count(found->knee_samples_per_second));
}

}  // namespace

std::string headline_chart(const ShownStudy& study, const std::vector<Series>& all) {
  const bool of_given_batch = study.recommendation() && study.recommendation()->global_batch;
  const std::string size = of_given_batch ? "micro-batch" : "batch";
  const std::optional<Measured> found = measured(study);
  SvgChart chart;
  chart.id = "headline";
  chart.title = fmt::format("Throughput by {} size", size);
  chart.description = description(study, found);
  chart.x.label =
      of_given_batch ? "micro-batch (samples per pass)" : "batch (samples per weight update)";
  chart.x.logarithmic = true;
  chart.y.label = "samples per second";
  bool any = false;
  int colour = 0;
  for (const Series& series : all) {
    if (static_cast<std::size_t>(++colour) > most_series) break;
    SvgSeries line;
    line.colour = colour, line.line = true;
    line.name = all.size() > 1 ? shown(series.name) : "with 95% intervals";
    for (const SeriesPoint& at : series.points) {
      if (!at.samples_per_second) continue;
      const trial::Interval& speed = *at.samples_per_second;
      line.points.push_back({static_cast<double>(at.batch), speed.mean, speed.low, speed.high});
      any = true;
    }
    chart.series.push_back(std::move(line));
  }
  if (found) {
    const auto chosen = static_cast<double>(found->knee_batch);
    chart.rules.push_back({chosen, true, fmt::format("{} {}", size, count(chosen))});
  }
  return any ? svg(chart) : "";
}

}  // namespace sweetspot::report
