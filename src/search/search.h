#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trial/trial.h"

namespace sweetspot::search {

enum class Objective { throughput, max_batch };
std::string_view name(Objective);

// What may be tried and what is wanted.
struct Limits {
  Objective objective = Objective::throughput;
  std::int64_t min = 1;
  std::int64_t max = 1;                        // already capped by the data set
  std::int64_t multiple_of = 1;
  double tolerance = 0.05;                     // of the best throughput
  std::optional<core::Bytes> memory_limit{};   // margin already taken off
  std::optional<std::int64_t> divisor_of{};    // only sizes that divide this
  int repeats = 1;                             // at least so many trials of what the answer rests on
};

// Memory of a batch, where the workload can tell it before running.
using Predict = std::function<std::optional<core::Bytes>(std::int64_t batch)>;

// The next batch to measure, or none: then `reason` says why the search is over.
struct Next {
  std::optional<std::int64_t> batch;
  std::string reason;
};

// A pure function of the finished trials: no clock, no randomness, no state. Never asks for a batch
// that is known or predicted (upper end of the interval) not to fit. Trials of one batch may repeat.
Next next(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict);

// The answer from what is known so far: the knee, or the largest batch that fits.
struct Choice {
  std::int64_t batch = 1;
  double samples_per_second = 0;      // the model's or the measured value at this batch
  double best_samples_per_second = 0;
  std::int64_t best_batch = 1;        // where the best was
  // The knee lies between these, as far as the trials tell (95%): what is smaller than the one is
  // too slow, and the other is fast enough. Of the largest batch that fits there is no doubt: both
  // are the chosen one.
  std::int64_t least_batch = 1, sure_batch = 1;
  bool settled = false;               // next() would ask for nothing more: see knee.h for what is worth a trial
};
std::optional<Choice> choose(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict);

// The largest batch that fits by prediction (workload's own, else a fit over measured memory with
// its interval's upper end); nothing when not even `min` does.
std::optional<std::int64_t> largest_fitting(std::span<const trial::Trial> trials, const Limits& limits,
                                            const Predict& predict);

}  // namespace sweetspot::search
