#pragma once
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "core/interval.h"
#include "trial/target.h"

namespace sweetspot::advise {

// The basis of a run's seconds to the target: its own clock, or, if other work disturbed it, its
// samples divided by the speed of its batch, which was measured interleaved with the others.
enum class SecondsBasis { clock, speed };
std::string_view name(SecondsBasis);

// One training run towards the target.
struct TargetRunTold {
  std::uint64_t seed = 0;
  bool reached = false;
  // To the target; if it was not reached, what was spent on it.
  double samples = 0, updates = 0, seconds = 0, clock_seconds = 0;
  std::optional<double> best;  // value of the metric; nullopt if it never appeared
  bool operator==(const TargetRunTold&) const = default;
};

struct TargetRow {
  std::int64_t batch = 1;
  double learning_rate = 0;
  core::Interval samples_per_second;
  std::optional<core::Interval> joules_per_sample;
  // From the other batches' runs, the noise scale and the speed; nullopt before any other run
  // reached the target.
  std::optional<core::Interval> predicted_samples, predicted_seconds;
  std::vector<TargetRunTold> runs;
  std::string failure;  // why its run failed, one short line; else empty
  bool operator==(const TargetRow&) const = default;

  int reached() const;
  std::vector<double> samples() const;  // of the runs that reached it
  std::vector<double> seconds() const;
};
// Over the seeds that reached the target: the mean with its 95% interval if there are two.
std::optional<core::Interval> measured_seconds(const TargetRow& row);
std::optional<core::Interval> measured_joules(const TargetRow& row);
std::optional<core::Interval> predicted_joules(const TargetRow& row);

// The complete answer to "which batch reaches this first": every output format renders this.
struct TimeToTarget {
  trial::Target target;
  bool for_energy = false;            // the least joules rather than the fewest seconds
  std::optional<std::int64_t> batch;  // nullopt: the target was not reached
  std::string command;                // trains with it; empty if there is none
  int seeds = 3;                      // requested
  std::string learning_rate_rule;     // empty: the program has its own learning rate
  double base_learning_rate = 0;
  std::int64_t base_batch = 100;
  SecondsBasis basis = SecondsBasis::clock;
  std::optional<double> samples_in_epoch;
  std::optional<std::int64_t> most_epochs;  // of a run; nullopt: a program decides itself
  std::optional<double> noise_batch;  // the critical batch from the noise scale of the first run
  std::optional<core::Interval> critical_batch;  // from the runs as well
  std::optional<std::int64_t> throughput_batch;  // the answer of tune without a target
  std::optional<double> best;                    // value of the metric in any run
  std::optional<std::int64_t> best_batch;
  bool metric_missing = false;  // runs ended, and none reported its metric
  std::optional<trial::End> cut_short;
  double seconds_spent = 0;     // on all runs, including evaluations
  std::vector<TargetRow> rows;  // ascending
  bool operator==(const TimeToTarget&) const = default;

  const TargetRow* row(std::int64_t its_batch) const;
  const TargetRow* chosen() const { return batch ? row(*batch) : nullptr; }
};

// The only place that words it.
std::string sentence(const TimeToTarget& made);
std::vector<std::string> reasons_in_words(const TimeToTarget& made);

}  // namespace sweetspot::advise
