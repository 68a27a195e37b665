#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/limits.h"
#include "memory/memory_fit.h"
#include "stats/experiment.h"
#include "trial/trial.h"

namespace sweetspot::search {

// `energy`: the least per sample, among those within the tolerance of the fastest.
enum class Objective { throughput, max_batch, energy };
std::string_view name(Objective);

// What may be tried, and the goal.
struct Limits {
  Objective objective = Objective::throughput;
  std::int64_t min = 1;
  std::int64_t max = 1;  // already capped by the data set
  std::int64_t multiple_of = 1;
  double tolerance = experiment::noticeable_share;  // of the best throughput
  memory::Limits memory{};
  std::optional<std::int64_t> divisor_of{};  // only sizes that divide this
  // Over the batches that matter of a workload that cannot be measured in rounds; nullopt: a batch
  // runs a second time only if it decides the answer.
  std::optional<int> passes{};
  std::optional<std::int64_t> previous{};  // the previous answer for this study key
  // The speed that other settings, such as another power limit, reached: a lower bound of the best.
  std::optional<double> best_elsewhere{};
  bool operator==(const Limits&) const = default;
};

using memory::Predict;

// One measured batch on the joint curves through all measurements.
struct BatchSpeed {
  std::int64_t batch = 1;
  core::Interval samples_per_second;
  core::Interval share;         // of the best batch; each curve has its own best
  double within_tolerance = 0;  // the probability that it is that close to the best
  std::optional<core::Interval> joules_per_sample{};  // if any energy was read
};

// The answer so far: the knee, the largest batch that fits, or the one with the least energy.
struct Decision {
  std::int64_t batch = 1;                      // a measured one
  std::int64_t best_batch = 1;                 // of the measured ones, the fastest
  std::vector<BatchSpeed> speeds;              // of every measured batch, ascending
  std::int64_t knee_low = 1, knee_high = 1;    // the 95% interval of the knee
  std::int64_t alike_low = 1, alike_high = 1;  // these would do about as well
  double regret = 0;  // the expected loss that knowing the curve exactly would save

  const BatchSpeed& chosen() const;
};

// What to measure next, and the answer so far.
struct Plan {
  // Interleaved: those of the next rounds. Else the one to start next: none when nothing more is to
  // be measured. Never one that is known or predicted (upper end of the interval) not to fit.
  std::vector<std::int64_t> batches{};
  bool interleaved = false;
  bool scouting = false;               // the coarse scan, one batch at a time
  bool settled = false;                // more measuring gains nothing
  std::optional<Decision> decision{};  // of the measured batches; nullopt without any
  // The largest batch that fits by prediction (the workload's own, else the upper end of the
  // interval of a fit to measured memory); nullopt if not even `min` does.
  std::optional<std::int64_t> largest_fitting{};
};
// A pure function of what was measured, in whichever way. Settings that change in place are
// interleaved, unless the largest batch is looked for, which only a run of its own proves.
Plan plan(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict,
          trial::Switching switching);

// Speed, and energy if any was read, of any batches (ascending), measured or not, on the curves
// through all measurements. Empty without any.
std::vector<BatchSpeed> speeds_at(std::span<const trial::Trial> trials,
                                  std::span<const std::int64_t> batches, const Limits& limits);

}  // namespace sweetspot::search
