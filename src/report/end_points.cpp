#include "report/end_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/text.h"
#include "report/table.h"
#include "stats/interval.h"
#include "stats/moments.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

auto place(const EndPointRow& row) {
  const trial::Setting& s = row.setting;
  return std::tie(s.batch, s.accumulation, s.configuration, s.learning_rate, row.epochs);
}

Json estimate(std::span<const double> values) {
  if (values.empty()) return nullptr;
  const auto interval = stats::independent_mean(values);
  return {{"mean", stats::Moments(values).mean()},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)}};
}

}  // namespace

std::vector<EndPointRow> end_point_rows(std::span<const trial::Trial> trials) {
  std::vector<EndPointRow> rows;
  for (const trial::Trial& trial : trials) {
    if (trial.outcome != trial::Outcome::ok || !trial.sharpness) continue;
    EndPointRow one{trial.setting, static_cast<int>(trial.epochs.size()), {}, {}, {}, {}};
    one.setting.seed = 0;
    auto row =
        std::ranges::find_if(rows, [&](const auto& known) { return place(known) == place(one); });
    if (row == rows.end()) row = rows.insert(rows.end(), one);
    const auto add = [](std::vector<double>& to, const std::optional<double>& value) {
      if (value) to.push_back(*value);
    };
    add(row->sharpness, trial.sharpness);
    add(row->train_loss, trial.end_train_loss);
    if (!trial.epochs.empty()) add(row->test_loss, trial.epochs.back().test_loss);
    add(row->gap, trial::generalisation_gap(trial));
  }
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return place(a) < place(b); });
  return rows;
}

std::string mean_words(std::span<const double> values) {
  if (values.empty()) return std::string(unknown);
  const std::string middle = fmt::format("{:.4g}", stats::Moments(values).mean());
  const auto interval = stats::independent_mean(values);
  if (!interval) return middle;
  const double off = interval->high - interval->mean;
  // No more digits than its interval has: one, or two if the first is a 1.
  const int places = off > 0 ? std::max(0, -static_cast<int>(std::floor(std::log10(off / 2)))) : 0;
  constexpr int most_places = 6;
  return off > 0 && places <= most_places
             ? fmt::format("{0:.{2}f} ±{1:.{2}f}", stats::Moments(values).mean(), off, places)
             : fmt::format("{} ±{:.2g}", middle, off);
}

std::string end_point_table(std::span<const trial::Trial> trials) {
  const std::vector<EndPointRow> rows = end_point_rows(trials);
  if (rows.empty()) return "";
  // What all rows share is said once: the table stays narrower than a terminal.
  const auto differ = [&](auto of) {
    return std::ranges::any_of(rows, [&](const auto& row) { return of(row) != of(rows.front()); });
  };
  const bool rates = differ([](const EndPointRow& row) { return row.setting.learning_rate; });
  const bool epochs = differ([](const EndPointRow& row) { return row.epochs; });
  std::vector<Column> columns{{"batch"}};
  if (rates) columns.push_back({"rate"});
  if (epochs) columns.push_back({"epochs"});
  for (const char* title : {"sharpness", "training loss", "test loss", "gap"})
    columns.push_back({title});
  Table table(columns);
  for (const EndPointRow& row : rows) {
    std::vector<std::string> cells{core::format_count(static_cast<double>(row.setting.batch))};
    if (rates) cells.push_back(fmt::format("{:g}", row.setting.learning_rate));
    if (epochs) cells.push_back(std::to_string(row.epochs));
    for (const auto* values : {&row.sharpness, &row.train_loss, &row.test_loss, &row.gap})
      cells.push_back(mean_words(*values));
    table.add(std::move(cells));
  }
  const int after = rows.front().epochs;
  return fmt::format(
      "Where training ended{}{}, dropout off:\nsharpness is the largest eigenvalue of the loss's "
      "Hessian, the gap is the test\nloss minus the training loss\n\n{}",
      epochs ? "" : fmt::format(" after {} epoch{}", after, after == 1 ? "" : "s"),
      rates ? "" : fmt::format(" at learning rate {:g}", rows.front().setting.learning_rate),
      table.text());
}

Json end_point_json(std::span<const trial::Trial> trials) {
  Json rows = Json::array();
  for (const EndPointRow& row : end_point_rows(trials))
    rows.push_back({{"batch", row.setting.batch},
                    {"accumulation", row.setting.accumulation},
                    {"learning_rate", row.setting.learning_rate},
                    {"epochs", row.epochs},
                    {"trials", row.sharpness.size()},
                    {"sharpness", estimate(row.sharpness)},
                    {"train_loss", estimate(row.train_loss)},
                    {"test_loss", estimate(row.test_loss)},
                    {"generalisation_gap", estimate(row.gap)}});
  return rows;
}

}  // namespace sweetspot::report
