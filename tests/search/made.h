#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "search/search.h"
#include "stats/experiment.h"

// Made-up trials, and searches over them.
namespace sweetspot::search {

using Speed = std::function<double(std::int64_t)>;  // samples a second by batch
using RunBatch = std::function<trial::Trial(std::int64_t)>;

// A run by itself; `noise`: half of its interval.
inline trial::Trial ok(std::int64_t batch, double speed, double noise = 0.01) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.samples_per_second = {speed, speed * (1 - noise), speed * (1 + noise)};
  return trial;
}

inline trial::Trial failed(std::int64_t batch, trial::Outcome outcome) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.outcome = outcome;
  return trial;
}

inline trial::Trial contended(trial::Trial trial) {
  trial.contention.contended = true;
  return trial;
}

inline trial::Trial on_gpu(trial::Trial trial) {
  trial.device = "cuda:0";
  return trial;
}

// A block of one step.
inline trial::Step block(std::int64_t batch, double speed, std::int32_t round) {
  trial::Step step;
  step.samples = batch;
  step.seconds = static_cast<double>(batch) / speed;
  step.round = round;
  return step;
}

// Blocks of these rounds, whose times have this standard deviation.
inline trial::Trial in_rounds(std::int64_t batch, double speed, std::int32_t rounds,
                              double deviation = 0.001, std::uint64_t seed = 1) {
  trial::Trial trial;
  trial.setting.batch = batch;
  const core::Random random(seed, core::Purpose::synthetic, static_cast<std::uint32_t>(batch));
  for (std::int32_t round = 1; round <= rounds; ++round)
    trial.raw.push_back(
        block(batch, speed * std::exp(deviation * random.normal(static_cast<std::uint64_t>(round))),
              round));
  return trial;
}

constexpr trial::Switching in_place{true}, by_starts{};

inline std::optional<Decision> decide(std::span<const trial::Trial> trials, const Limits& limits,
                                      const Predict& predict) {
  return plan(trials, limits, predict, by_starts).decision;
}

inline std::optional<std::int64_t> largest_fitting(std::span<const trial::Trial> trials,
                                                   const Limits& limits, const Predict& predict) {
  return plan(trials, limits, predict, by_starts).largest_fitting;
}

// The batch to start next.
inline std::optional<std::int64_t> next(std::span<const trial::Trial> trials, const Limits& limits,
                                        const Predict& predict) {
  const Plan made = plan(trials, limits, predict, by_starts);
  return made.batches.empty() ? std::nullopt : std::optional(made.batches.front());
}

struct Study {
  std::vector<trial::Trial> trials;
  std::vector<std::int64_t> asked;
  std::optional<Decision> decision;
};

// A complete search, of a workload that runs one batch at a time.
inline Study study(const Limits& limits, const RunBatch& run, const Predict& predict = {},
                   std::vector<trial::Trial> before = {}) {
  Study result;
  result.trials = std::move(before);
  for (int i = 0; i < 60; ++i) {
    const auto batch = next(result.trials, limits, predict);
    if (!batch) break;
    result.asked.push_back(*batch);
    result.trials.push_back(run(*batch));
  }
  result.decision = decide(result.trials, limits, predict);
  return result;
}

// The same for one with interleaved batches, for at most this many rounds. `asked` has each batch
// once.
inline Study study_in_rounds(const Limits& limits, const Speed& speed, double deviation,
                             std::int32_t most_rounds = 200, std::uint64_t seed = 1) {
  Study result;
  std::map<std::int64_t, trial::Trial> trials;
  const auto known = [&] {
    std::vector<trial::Trial> all;
    for (const std::int64_t batch : result.asked) all.push_back(trials[batch]);
    return all;
  };
  std::vector<std::int64_t> before;
  for (std::int32_t round = 1; round <= most_rounds;) {
    const Plan next = plan(known(), limits, {}, in_place);
    if (next.batches.empty() || (next.settled && next.batches == before)) break;
    before = next.batches;
    for (int i = 0; i < (next.scouting ? 1 : 8); ++i, ++round)
      for (const std::int64_t batch : next.batches) {
        if (!trials.contains(batch)) result.asked.push_back(batch);
        trials[batch].setting.batch = batch;
        const core::Random random(seed, core::Purpose::synthetic,
                                  static_cast<std::uint32_t>(batch));
        trials[batch].raw.push_back(block(
            batch,
            speed(batch) * std::exp(deviation * random.normal(static_cast<std::uint64_t>(round))),
            round));
      }
  }
  result.trials = known();
  result.decision = decide(result.trials, limits, {});
  return result;
}

// The speed of steps whose fixed cost equals this many samples.
inline double line_speed(std::int64_t batch, double fixed_samples) {
  const double b = static_cast<double>(batch);
  return 1e5 * b / (fixed_samples + b);
}

// The true loss of this answer: its excess slowness, and its excess size.
inline double true_loss(const Speed& speed, std::int64_t answer, std::int64_t max,
                        double tolerance = 0.05) {
  double best = 0;
  for (std::int64_t batch = 1; batch <= max; ++batch) best = std::max(best, speed(batch));
  std::int64_t knee = 1;
  while (speed(knee) < (1 - tolerance) * best) ++knee;
  const double doublings = std::log2(static_cast<double>(answer) / static_cast<double>(knee));
  return std::max(0.0, 1 - speed(answer) / best - tolerance) +
         experiment::price_of_doubling * std::max(0.0, doublings);
}

// A power of two that is a whole doubling beyond the knee loses this much.
constexpr double good_loss = experiment::price_of_doubling;

// Between two batches of these a speed lies between theirs.
inline Speed through(const std::map<double, double>& measured) {
  return [measured](std::int64_t batch) {
    const double b = static_cast<double>(batch);
    const auto above = measured.lower_bound(b);
    if (above->first == b) return above->second;
    const auto below = std::prev(above);
    const double share = std::log(b / below->first) / std::log(above->first / below->first);
    return below->second + share * (above->second - below->second);
  };
}

}  // namespace sweetspot::search
