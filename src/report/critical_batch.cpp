#include "report/critical_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "core/text.h"
#include "report/epochs.h"
#include "report/formats.h"
#include "report/table.h"
#include "stats/moments.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;
using advise::CriticalBatchAnswer;

std::string count(double value) { return core::format_count(value); }

double mean(const std::vector<double>& values) { return stats::Moments(values).mean(); }

std::string loss_words(const CriticalBatchAnswer::Row& row) {
  if (row.losses.empty()) return std::string(unknown);
  const double middle = mean(row.losses);
  const int digits = middle < 10 ? 4 : 0;
  std::string words = fmt::format("{:.{}f}", middle, digits);
  if (const auto interval = mean_seconds(row.losses))
    words += fmt::format(" ±{:.{}f}", interval->high - interval->mean, digits);
  return words;
}

}  // namespace

std::string critical_batch_text(const ShownStudy& study) {
  const CriticalBatchAnswer& made = *study.critical_batch();
  if (!made.found) return "";
  std::string text;
  const std::string words = sentence(made, study.workload) + " " + noise_sentence(made);
  for (const std::string& line : wrapped(words, 80)) text += line + "\n";
  text += "\n";
  Table table({{"batch"},
               {"learning rate"},
               {"updates"},
               {"test loss"},
               {"against " + count(static_cast<double>(made.rows.front().batch))},
               {"within?"}});
  for (const CriticalBatchAnswer::Row& row : made.rows)
    table.add({count(static_cast<double>(row.batch)),
               row.learning_rate ? fmt::format("{:.3g}", *row.learning_rate) : std::string(unknown),
               row.updates ? count(static_cast<double>(*row.updates)) : std::string(unknown),
               loss_words(row),
               row.ratio ? fmt::format("{:+.1f}%", 100 * (*row.ratio - 1)) : std::string(unknown),
               row.diverged > 0       ? fmt::format("no: {} diverged", row.diverged)
               : row.within_tolerance ? "yes"
                                      : "no"});
  text += table.text();
  return text + fmt::format("Every branch: sweetspot studies show {}\n", study.number);
}

Json critical_batch_json(const ShownStudy& study) {
  Json json{{"schema_version", schema_version},
            {"study", study.number},
            {"workload", study.workload},
            {"status", name(study.answer.end)},
            {"message", core::unless_empty(study.answer.message)},
            {"sentence", sentence(*study.critical_batch(), study.workload)}};
  json.update(Json::parse(advise::to_json({*study.critical_batch()}))["content"]);
  json["cost"] = {{"seconds", study.seconds},
                  {"trials", study.trials.size() - study.resumed},
                  {"resumed_trials", study.resumed}};
  return json;
}

}  // namespace sweetspot::report
