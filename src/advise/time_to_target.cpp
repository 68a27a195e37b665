#include "advise/time_to_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "advise/answer_fields.h"
#include "core/text.h"
#include "stats/interval.h"
#include "stats/moments.h"

namespace sweetspot::advise {
namespace {

std::string batch_words(std::int64_t batch) {
  return core::format_count(static_cast<double>(batch));
}

// "6.12 s", "41 s", "312 J": three significant digits.
std::string cost_words(double cost, const TimeToTarget& made) {
  return made.for_energy ? core::format_joules(cost) : core::format_rounded(cost) + " s";
}

std::optional<core::Interval> over_seeds(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const double mean = stats::Moments(values).mean();
  auto found = stats::independent_mean(values);
  if (!found) return core::Interval{mean, mean, mean};
  found->low = std::max(found->low, 0.0);  // times are not negative
  return found;
}

std::optional<core::Interval> measured_cost(const TargetRow& row, const TimeToTarget& made) {
  return made.for_energy ? measured_joules(row) : measured_seconds(row);
}

std::optional<core::Interval> predicted_cost(const TargetRow& row, const TimeToTarget& made) {
  return made.for_energy ? predicted_joules(row) : row.predicted_seconds;
}

// What the longest run that did not come to the target has cost; nullopt if there is none.
std::optional<double> cost_in_vain(const TargetRow& row, const TimeToTarget& made) {
  std::optional<double> most;
  for (const TargetRunTold& run : row.runs) {
    if (run.reached || (made.for_energy && !row.joules_per_sample)) continue;
    const double cost = made.for_energy ? run.samples * row.joules_per_sample->mean : run.seconds;
    most = std::max(most.value_or(0), cost);
  }
  return most;
}

// Every batch that was trained failed.
const TargetRow* only_failures(const TimeToTarget& made) {
  const TargetRow* failed = nullptr;
  for (const TargetRow& row : made.rows) {
    if (!row.runs.empty()) return nullptr;
    if (!row.failure.empty()) failed = &row;
  }
  return failed;
}

std::string not_reached(const TimeToTarget& made) {
  if (made.metric_missing)
    return fmt::format("No run reported its {}: whether {} was reached is unknown.",
                       name(made.target.metric), words(made.target));
  if (const TargetRow* failed = only_failures(made))
    return fmt::format("{} was not reached: every batch that was trained failed, batch {} as {}.",
                       words(made.target), batch_words(failed->batch), failed->failure);
  if (!made.best)
    return fmt::format("{} was not reached: no run came to an evaluation.", words(made.target));
  const bool ended_itself = !made.most_epochs && !made.cut_short;
  return fmt::format("{} was not reached {}; best was {}{}.", words(made.target),
                     ended_itself ? "before the program ended" : "within the budget",
                     trial::words(made.target.metric, *made.best),
                     made.best_batch ? " at batch " + batch_words(*made.best_batch) : "");
}

// The error of the prediction, over the batches that reached the target, and those that refute it.
std::string prediction_words(const TimeToTarget& made) {
  double most = 0;
  int count = 0;
  std::string refuted;
  for (const TargetRow& row : made.rows) {
    const auto measured = measured_cost(row, made), predicted = predicted_cost(row, made);
    if (!predicted) continue;
    if (measured) {
      ++count;
      most = std::max(most, std::abs(std::log(predicted->mean / measured->mean)));
    } else if (const auto cost = cost_in_vain(row, made); cost && *cost > predicted->mean) {
      refuted += (refuted.empty() ? "" : ", ") + batch_words(row.batch);
    }
  }
  if (count < 2) return "";
  return fmt::format("predictions of the {} batches that reached it were off by {:.0f}% at most{}",
                     count, 100 * (std::exp(most) - 1),
                     refuted.empty()
                         ? ""
                         : "; trained longer than predicted without reaching it: batch " + refuted);
}

std::string throughput_words(const TimeToTarget& made) {
  const TargetRow* chosen = made.chosen();
  if (!made.throughput_batch || !chosen) return "";
  const std::string batch = batch_words(*made.throughput_batch);
  if (*made.throughput_batch == chosen->batch)
    return fmt::format("batch {} is the throughput answer as well", batch);
  const TargetRow* row = made.row(*made.throughput_batch);
  if (!row) return fmt::format("for throughput alone it would be batch {}", batch);
  const auto measured = measured_cost(*row, made), predicted = predicted_cost(*row, made);
  if (const auto cost = cost_in_vain(*row, made); cost && !measured)
    return fmt::format("for throughput alone it would be batch {}, which did not reach {} in {}",
                       batch, words(made.target), cost_words(*cost, made));
  if (!measured && !predicted)
    return fmt::format("for throughput alone it would be batch {}", batch);
  return fmt::format("for throughput alone it would be batch {}, which {} {} to {}", batch,
                     measured ? "takes" : "is predicted to take",
                     cost_words(measured ? measured->mean : predicted->mean, made),
                     words(made.target));
}

// The first run measures the noise scale, which the others' rates may depend on.
std::string rate_words(const TimeToTarget& made) {
  if (made.learning_rate_rule.empty()) return "";
  if (made.learning_rate_rule == "none") return "the learning rate is the same for every batch";
  std::string words =
      fmt::format("the learning rate follows the batch from {:g} at {} by the rule {}",
                  made.base_learning_rate, batch_words(made.base_batch), made.learning_rate_rule);
  if (!made.noise_batch) return words;
  const auto beyond = [&](std::int64_t batch) {
    return static_cast<double>(batch) > *made.noise_batch;
  };
  if (made.learning_rate_rule == "linear" &&
      (beyond(made.base_batch) || std::ranges::any_of(made.rows, beyond, &TargetRow::batch)))
    words += " up to the noise scale, except in the first run, which measured that";
  if (made.learning_rate_rule == "adascale" || made.learning_rate_rule == "surge")
    words += " and the noise scale, except in the first run, which measured that";
  return words;
}

// How to go on, if no run came to the target within its epochs.
std::string epochs_words(const TimeToTarget& made) {
  if (made.batch || !made.best || !made.most_epochs || made.cut_short || only_failures(made))
    return "";
  return fmt::format("a run has at most {} epoch{}: --most-epochs raises that", *made.most_epochs,
                     *made.most_epochs == 1 ? "" : "s");
}

std::optional<double> mean_samples(const TargetRow& row) {
  const std::vector<double> samples = row.samples();
  return samples.empty() ? std::nullopt : std::optional(stats::Moments(samples).mean());
}

std::optional<double> mean_epochs(const TargetRow& row, const TimeToTarget& made) {
  const auto samples = mean_samples(row);
  if (!samples || !made.samples_in_epoch) return std::nullopt;
  return *samples / *made.samples_in_epoch;
}

constexpr auto target_run_fields = [](auto& form, auto& run) {
  form.field("seed", run.seed);
  form.field("reached", run.reached);
  form.field("samples", run.samples);
  form.field("updates", run.updates);
  form.field("seconds", run.seconds);
  form.field("clock_seconds", run.clock_seconds);
  form.field("best", run.best);
};

void target_row_fields(auto& form, auto& row, const TimeToTarget& made) {
  form.field("batch", row.batch);
  form.field("learning_rate", row.learning_rate);
  form.field("samples_per_second", row.samples_per_second);
  form.field("joules_per_sample", row.joules_per_sample);
  form.field("predicted_samples", row.predicted_samples);
  form.field("predicted_seconds", row.predicted_seconds);
  form.derived("predicted_joules", [&] { return predicted_joules(row); });
  form.derived("measured_seconds", [&] { return measured_seconds(row); });
  form.derived("measured_joules", [&] { return measured_joules(row); });
  form.derived("measured_samples", [&] { return mean_samples(row); });
  form.derived("epochs", [&] { return mean_epochs(row, made); });
  form.derived("reached", [&] { return row.reached(); });
  form.list("runs", row.runs, target_run_fields);
  form.text("failure", row.failure);
}

constexpr auto target_fields = [](auto& form, auto& made) {
  // For the chosen row, if there is one.
  const auto of_chosen = [&](auto make) {
    const TargetRow* chosen = made.chosen();
    return chosen ? make(*chosen) : std::nullopt;
  };
  form.group("target", [&](auto& inner) {
    inner.named("metric", made.target.metric, trial::Target::Metric::loss);
    inner.field("value", made.target.value);
  });
  form.field("for_energy", made.for_energy);
  form.field("batch", made.batch);
  form.derived("learning_rate", [&] {
    return of_chosen([](const TargetRow& row) { return std::optional(row.learning_rate); });
  });
  form.derived("seconds", [&] { return of_chosen(measured_seconds); });
  form.derived("joules", [&] { return of_chosen(measured_joules); });
  form.derived("sentence", [&] { return sentence(made); });
  form.derived("reasons", [&] { return reasons_in_words(made); });
  form.text("command", made.command);
  form.field("seeds", made.seeds);
  form.field("learning_rate_rule", made.learning_rate_rule);
  form.field("base_learning_rate", made.base_learning_rate);
  form.field("base_batch", made.base_batch);
  form.named("seconds_basis", made.basis, SecondsBasis::speed);
  form.field("samples_in_epoch", made.samples_in_epoch);
  form.field("most_epochs", made.most_epochs);
  form.field("noise_batch", made.noise_batch);
  form.field("critical_batch", made.critical_batch);
  form.field("throughput_batch", made.throughput_batch);
  form.field("best", made.best);
  form.field("best_batch", made.best_batch);
  form.field("metric_missing", made.metric_missing);
  cut_short_field(form, made.cut_short);
  form.field("seconds_spent", made.seconds_spent);
  form.list("rows", made.rows, [&](auto& each, auto& row) { target_row_fields(each, row, made); });
};

}  // namespace

std::string_view name(SecondsBasis basis) {
  return basis == SecondsBasis::clock ? "clock" : "speed";
}

int TargetRow::reached() const {
  return static_cast<int>(std::ranges::count(runs, true, &TargetRunTold::reached));
}

std::vector<double> TargetRow::samples() const {
  std::vector<double> values;
  for (const TargetRunTold& run : runs)
    if (run.reached) values.push_back(run.samples);
  return values;
}

std::vector<double> TargetRow::seconds() const {
  std::vector<double> values;
  for (const TargetRunTold& run : runs)
    if (run.reached) values.push_back(run.seconds);
  return values;
}

std::optional<core::Interval> measured_seconds(const TargetRow& row) {
  return over_seeds(row.seconds());
}

std::optional<core::Interval> measured_joules(const TargetRow& row) {
  if (!row.joules_per_sample) return std::nullopt;
  std::vector<double> values = row.samples();
  for (double& value : values) value *= row.joules_per_sample->mean;
  return over_seeds(values);
}

std::optional<core::Interval> predicted_joules(const TargetRow& row) {
  if (!row.joules_per_sample || !row.predicted_samples) return std::nullopt;
  const double each = row.joules_per_sample->mean;
  const core::Interval& samples = *row.predicted_samples;
  return core::Interval{each * samples.mean, each * samples.low, each * samples.high};
}

const TargetRow* TimeToTarget::row(std::int64_t its_batch) const {
  const auto found = std::ranges::find(rows, its_batch, &TargetRow::batch);
  return found == rows.end() ? nullptr : &*found;
}

std::string sentence(const TimeToTarget& made) {
  const TargetRow* chosen = made.chosen();
  const auto cost = chosen ? measured_cost(*chosen, made) : std::nullopt;
  if (!cost) return not_reached(made);
  const int count = chosen->reached(), runs = static_cast<int>(chosen->runs.size());
  const std::string seeds = count < runs ? fmt::format("{} of {} seeds", count, runs)
                            : count > 1  ? fmt::format("{} seeds", count)
                                         : "one seed";
  const auto figure = [&](double value) {
    return made.for_energy ? core::format_joules(value) : core::format_rounded(value);
  };
  const std::string spread =
      count > 1 ? fmt::format(" ({} to {} over {})", figure(cost->low), figure(cost->high), seeds)
                : fmt::format(" ({})", seeds);
  return fmt::format("Train with batch {}: {} {} {}{}{}.", batch_words(chosen->batch),
                     words(made.target), made.for_energy ? "for" : "in",
                     cost_words(cost->mean, made), spread,
                     made.learning_rate_rule.empty()
                         ? ""
                         : fmt::format(", learning rate {:.2g}", chosen->learning_rate));
}

std::vector<std::string> reasons_in_words(const TimeToTarget& made) {
  std::vector<std::string> list;
  const auto add = [&list](std::string words) {
    if (!words.empty()) list.push_back(std::move(words));
  };
  add(throughput_words(made));
  add(epochs_words(made));
  if (made.critical_batch)
    add(fmt::format("a batch of about {} ({} to {}{}) needs twice the samples of a small one",
                    core::format_rounded(made.critical_batch->mean),
                    core::format_rounded(made.critical_batch->low),
                    core::format_rounded(made.critical_batch->high),
                    made.noise_batch
                        ? "; by the noise scale alone " + core::format_rounded(*made.noise_batch)
                        : ""));
  add(prediction_words(made));
  add(rate_words(made));
  if (made.basis == SecondsBasis::speed)
    add("other work disturbed the runs: seconds are their samples at the speed that was measured "
        "in "
        "turns");
  else
    add("evaluations are not counted");
  if (made.cut_short == trial::End::budget) add("the budget ended before every seed had run");
  if (made.cut_short == trial::End::stopped) add("it was stopped before every seed had run");
  return list;
}

void add_fields(JsonWriter& form, const TimeToTarget& made) { target_fields(form, made); }

void add_fields(JsonReader& form, TimeToTarget& made) {
  target_fields(form, made);
  const bool ascending = std::ranges::adjacent_find(made.rows, std::ranges::greater_equal{},
                                                    &TargetRow::batch) == made.rows.end();
  form.require(ascending && (!made.batch || made.chosen()));
}

}  // namespace sweetspot::advise
