#include "report/text/rank_plan.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/charts/plot.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

// Efficiency over ranks, on a logarithmic axis.
std::string plot_of(const advise::RankPlan& plan, const PlotOptions& options) {
  constexpr std::size_t margin = 5;  // "100% "
  if (plan.rows.size() < 2 || options.width <= 2 * margin) return "";
  Canvas canvas(options.width - margin, options.height, options.utf8);
  const double first = std::log(static_cast<double>(plan.rows.front().ranks));
  const double last = std::log(static_cast<double>(plan.rows.back().ranks));
  const auto x = [&](const advise::RankPlanRow& row) {
    return (std::log(static_cast<double>(row.ranks)) - first) / (last - first);
  };
  for (std::size_t i = 1; i < plan.rows.size(); ++i)
    canvas.line(x(plan.rows[i - 1]), plan.rows[i - 1].efficiency, x(plan.rows[i]),
                plan.rows[i].efficiency);
  std::string text = "\npredicted efficiency by ranks\n";
  for (std::size_t row = 0; row < options.height; ++row)
    text += fmt::format("{:>4} {}\n",
                        row == 0                    ? "100%"
                        : row + 1 == options.height ? "0%"
                                                    : "",
                        canvas.row(row));
  return text + fmt::format("     {:<{}}{:>8}\n", plan.rows.front().ranks,
                            options.width - margin - 8, plan.rows.back().ranks);
}

nlohmann::ordered_json machine_json(const advise::RankPlanFacts::Machine& machine) {
  nlohmann::ordered_json json{{"cores", machine.cores},
                              {"threads_of_rank", machine.threads_of_rank}};
  json["steps"] = nlohmann::ordered_json::array();
  for (const auto& [ranks, steps] : machine.steps)
    json["steps"].push_back({{"ranks", ranks},
                             {"micro_batch", steps.micro_batch},
                             {"times_alone", steps.times_alone},
                             {"sums_seconds", steps.sums_seconds}});
  return json;
}

}  // namespace

std::string rank_plan_text(const advise::RankPlan& plan, const PlotOptions& options) {
  Table table(
      {{"ranks"}, {"global batch"}, {"each"}, {"step"}, {"samples/s"}, {"efficiency"}, {"sooner"}});
  for (const advise::RankPlanRow& row : plan.rows)
    table.add({core::format_count(static_cast<double>(row.ranks)),
               core::format_count(static_cast<double>(row.global_batch)),
               core::format_count(static_cast<double>(row.micro_batch)),
               core::format_duration(core::Seconds(row.step_seconds)),
               core::format_rounded(row.samples_per_second),
               fmt::format("{:.0f}%", 100 * row.efficiency),
               row.sooner ? fmt::format("{:.1f}×", *row.sooner) : std::string(unknown)});
  const bool has_steps = plan.facts.machine && !plan.facts.machine->steps.empty();
  std::string text =
      fmt::format("\nPrediction for more ranks ({}), each with the best batch:\n",
                  has_steps ? "from a few measured steps" : "nothing of it was run") +
      table.text() + plot_of(plan, options) + "It assumes that\n";
  for (const std::string& assumption : advise::assumptions(plan.facts))
    for (const std::string& line : wrapped("- " + assumption, options.width)) text += line + "\n";
  return text;
}

nlohmann::ordered_json rank_plan_json(const advise::RankPlan& plan) {
  const advise::RankPlanFacts& facts = plan.facts;
  nlohmann::ordered_json json{
      {"is_prediction", true},
      {"link",
       {{"latency_seconds", facts.link.latency_seconds},
        {"bytes_per_second", facts.link.bytes_per_second},
        {"measured", facts.link_measured}}},
      {"machine", facts.machine ? machine_json(*facts.machine) : nlohmann::ordered_json(nullptr)},
      {"rank_cost_seconds", facts.rank_seconds},
      {"gradient_bytes", facts.gradient_bytes},
      {"bucket_bytes", facts.bucket_bytes},
      {"backward_share", facts.backward_share},
      {"noise_scale_samples",
       facts.noise_scale ? nlohmann::ordered_json(*facts.noise_scale) : nullptr},
      {"assumptions", advise::assumptions(facts)}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const advise::RankPlanRow& row : plan.rows)
    json["rows"].push_back(
        {{"ranks", row.ranks},
         {"global_batch", row.global_batch},
         {"micro_batch", row.micro_batch},
         {"predicted_step_seconds", row.step_seconds},
         {"predicted_exposed_seconds", row.exposed_seconds},
         {"predicted_samples_per_second", row.samples_per_second},
         {"predicted_efficiency", row.efficiency},
         {"predicted_times_sooner", row.sooner ? nlohmann::ordered_json(*row.sooner) : nullptr}});
  return json;
}

}  // namespace sweetspot::report
