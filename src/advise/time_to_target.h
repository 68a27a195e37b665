#pragma once
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "core/interval.h"
#include "trial/target.h"

namespace sweetspot::advise {

// Where the seconds of a run to the target come from: its own clock, or, where other work disturbed
// it, its samples at the speed of its batch, which was measured in turns with the others'.
enum class SecondsBasis { clock, speed };
std::string_view name(SecondsBasis);

// One training run towards the target.
struct TargetRunTold {
  std::uint64_t seed = 0;
  bool reached = false;
  // To the target; where it was not reached, what was spent on it.
  double samples = 0, updates = 0, seconds = 0, clock_seconds = 0;
  std::optional<double> best;  // value of the metric; nothing where it never appeared
  bool operator==(const TargetRunTold&) const = default;
};

struct TargetRow {
  std::int64_t batch = 1;
  double learning_rate = 0;
  core::Interval samples_per_second;
  std::optional<core::Interval> joules_per_sample;
  // By the other batches' runs, the noise scale and the speed; nothing before any other run reached
  // the target.
  std::optional<core::Interval> predicted_samples, predicted_seconds;
  std::vector<TargetRunTold> runs;
  std::string failure;  // why its run failed, one short line; empty: it did not
  bool operator==(const TargetRow&) const = default;

  int reached() const;
  std::vector<double> samples() const;  // of the runs that reached it
  std::vector<double> seconds() const;
};
// Over the seeds that reached the target: the mean with its 95% interval where there are two.
std::optional<core::Interval> measured_seconds(const TargetRow& row);
std::optional<core::Interval> measured_joules(const TargetRow& row);
std::optional<core::Interval> predicted_joules(const TargetRow& row);

// The answer to "which batch reaches this soonest", complete: every form of output renders this.
// Stored with the study.
struct TimeToTarget {
  trial::Target target;
  bool for_energy = false;            // the least joules rather than the fewest seconds
  std::optional<std::int64_t> batch;  // nothing: the target was not reached
  std::string command;                // that trains so; empty where there is none
  int seeds = 3;                      // asked for
  std::string learning_rate_rule;     // empty: the program has a learning rate of its own
  double base_learning_rate = 0;
  std::int64_t base_batch = 100;
  SecondsBasis basis = SecondsBasis::clock;
  std::optional<double> samples_in_epoch;
  std::optional<double> noise_batch;  // the critical batch by the noise scale of the first run
  std::optional<core::Interval> critical_batch;  // by the runs as well
  std::optional<std::int64_t> throughput_batch;  // what tune answers without a target
  std::optional<double> best;                    // value of the metric in any run
  std::optional<std::int64_t> best_batch;
  bool metric_missing = false;  // runs ended, and none told its metric
  CutShort cut_short = CutShort::no;
  double seconds_spent = 0;     // on all runs, evaluations included
  std::vector<TargetRow> rows;  // ascending
  bool operator==(const TimeToTarget&) const = default;

  const TargetRow* row(std::int64_t its_batch) const;
  const TargetRow* chosen() const { return batch ? row(*batch) : nullptr; }
};

// The one place that words it.
std::string sentence(const TimeToTarget& made);
std::vector<std::string> reasons_in_words(const TimeToTarget& made);

// As the store keeps it and `--json` prints it.
std::string to_json(const TimeToTarget& made);
std::optional<TimeToTarget> time_to_target_from_json(const std::string& text);

}  // namespace sweetspot::advise
