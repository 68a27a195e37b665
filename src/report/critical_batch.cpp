#include "report/critical_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/epochs.h"
#include "report/formats.h"
#include "report/table.h"
#include "stats/moments.h"

namespace sweetspot::report {
namespace {

using Json = nlohmann::ordered_json;

std::string count(double value) { return core::format_count(value); }

double mean(const std::vector<double>& values) { return stats::Moments(values).mean(); }

std::string epochs_words(double epochs) {
  return epochs == 0 ? "at the start"
                     : fmt::format("after {:g} epoch{}", epochs, epochs == 1 ? "" : "s");
}

// How many seeds took part.
std::size_t seeds(const convergence::CriticalBatch& found) {
  return found.rows.front().losses.size() + found.rows.front().diverged;
}

const trial::Trial* trial_of(const CriticalBatchAnswer& answer, std::int64_t batch) {
  const auto found = std::ranges::find_if(answer.trials, [&](const trial::Trial& trial) {
    return trial.setting.batch == batch && trial.outcome != trial::Outcome::refused;
  });
  return found == answer.trials.end() ? nullptr : &*found;
}

// Between batches, so it need not contain the answer, which is one of those tried.
std::string crossing_words(const convergence::CriticalBatch& found) {
  if (!found.crossing || found.at_least) return "";
  return fmt::format(" (interpolated: {} to {} over {} seeds)", count(found.crossing->low),
                     count(found.crossing->high), seeds(found));
}

// If the loss rises from the first batch on, that one may be beyond the critical batch itself.
std::string smallest_words(const convergence::CriticalBatch& found) {
  if (found.at_least || found.batch != found.rows.front().batch) return "";
  return " No larger batch stays within that, so a smaller one may do better still: lower --min.";
}

std::string noise_words(const CriticalBatchAnswer& answer) {
  if (!answer.noise_scale)
    return "The noise scale there is not known: the gradient does not stand out from its noise.";
  return fmt::format("The noise scale there predicts {} ({} to {}).",
                     count(answer.noise_scale->mean), count(answer.noise_scale->low),
                     count(answer.noise_scale->high));
}

std::string loss_words(const convergence::BranchRow& row) {
  if (row.losses.empty()) return std::string(unknown);
  const double middle = mean(row.losses);
  const int digits = middle < 10 ? 4 : 0;
  std::string words = fmt::format("{:.{}f}", middle, digits);
  if (const auto interval = mean_seconds(row.losses))
    words += fmt::format(" ±{:.{}f}", interval->high - interval->mean, digits);
  return words;
}

Json interval_json(const std::optional<stats::Interval>& interval) {
  if (!interval) return nullptr;
  return {{"mean", interval->mean}, {"low", interval->low}, {"high", interval->high}};
}

Json row_json(const CriticalBatchAnswer& answer, const convergence::BranchRow& row) {
  const trial::Trial* trial = trial_of(answer, row.batch);
  return {{"batch", row.batch},
          {"learning_rate", trial ? Json(trial->setting.learning_rate) : Json(nullptr)},
          {"updates", trial ? Json(trial->steps) : Json(nullptr)},
          {"losses", row.losses},
          {"diverged", row.diverged},
          {"loss_ratio", row.losses.empty() ? Json(nullptr) : Json(row.ratio)},
          {"within_tolerance", row.within}};
}

}  // namespace

std::string critical_batch_sentence(const CriticalBatchAnswer& answer) {
  if (!answer.found) return "";
  const convergence::CriticalBatch& found = *answer.found;
  return fmt::format(
      "The critical batch of {} {} is {}{}{}: up to there the loss after {} more samples stays "
      "within {:g}% of batch {}'s.{}",
      core::printable(answer.workload), epochs_words(answer.epochs),
      found.at_least ? "at least " : "", count(static_cast<double>(found.batch)),
      crossing_words(found), count(static_cast<double>(answer.samples)), 100 * answer.tolerance,
      count(static_cast<double>(found.rows.front().batch)), smallest_words(found));
}

std::string critical_batch_text(const CriticalBatchAnswer& answer) {
  if (!answer.found) return "";
  std::string text;
  const std::string words = critical_batch_sentence(answer) + " " + noise_words(answer);
  for (const std::string& line : wrapped(words, 80)) text += line + "\n";
  text += "\n";
  Table table({{"batch"},
               {"learning rate"},
               {"updates"},
               {"test loss"},
               {"against " + count(static_cast<double>(answer.found->rows.front().batch))},
               {"within?"}});
  for (const convergence::BranchRow& row : answer.found->rows) {
    const trial::Trial* trial = trial_of(answer, row.batch);
    const std::string against =
        row.losses.empty() ? std::string(unknown) : fmt::format("{:+.1f}%", 100 * (row.ratio - 1));
    table.add({count(static_cast<double>(row.batch)),
               trial ? fmt::format("{:.3g}", trial->setting.learning_rate) : std::string(unknown),
               trial ? count(static_cast<double>(trial->steps)) : std::string(unknown),
               loss_words(row), against,
               row.diverged > 0 ? fmt::format("no: {} diverged", row.diverged)
               : row.within     ? "yes"
                                : "no"});
  }
  text += table.text();
  return text + fmt::format("Every branch: sweetspot studies show {}\n", answer.study);
}

Json critical_batch_json(const CriticalBatchAnswer& answer) {
  Json json{{"schema_version", schema_version},
            {"study", answer.study},
            {"workload", answer.workload},
            {"status", answer.status},
            {"message", answer.message.empty() ? Json(nullptr) : Json(answer.message)},
            {"sentence", critical_batch_sentence(answer)},
            {"checkpoint",
             {{"epochs", answer.epochs},
              {"test_loss", answer.checkpoint_loss},
              {"noise_scale", interval_json(answer.noise_scale)}}},
            {"branch_samples", answer.samples},
            {"tolerance", answer.tolerance},
            {"learning_rate_rule", answer.learning_rate_rule}};
  Json found = nullptr;
  Json rows = Json::array();
  if (answer.found) {
    found = {{"batch", answer.found->batch},
             {"at_least", answer.found->at_least},
             {"crossing", interval_json(answer.found->crossing)},
             {"seeds", seeds(*answer.found)}};
    for (const convergence::BranchRow& row : answer.found->rows)
      rows.push_back(row_json(answer, row));
  }
  json["critical_batch"] = std::move(found);
  json["branches"] = std::move(rows);
  json["cost"] = {{"seconds", answer.seconds},
                  {"trials", answer.trials.size() - answer.resumed},
                  {"resumed_trials", answer.resumed}};
  return json;
}

}  // namespace sweetspot::report
