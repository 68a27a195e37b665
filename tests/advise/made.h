#pragma once
#include <algorithm>

#include "advise/advise.h"
#include "advise/trials.h"

namespace sweetspot::tests {

// The decision that exact arithmetic asks for, of a step of fixed + batch × per_sample seconds.
inline search::Decision made_decision(const std::vector<std::int64_t>& batches, double fixed,
                                      double per_sample, std::int64_t chosen) {
  search::Decision made;
  const auto speed = [&](std::int64_t batch) {
    return static_cast<double>(batch) / (fixed + per_sample * static_cast<double>(batch));
  };
  made.batch = chosen, made.best_batch = batches.back();
  made.knee_low = made.knee_high = made.alike_low = made.alike_high = chosen;
  const double best = speed(made.best_batch);
  for (const std::int64_t batch : batches) {
    const double mean = speed(batch), share = mean / best;
    made.speeds.push_back({batch,
                           {mean, 0.98 * mean, 1.02 * mean},
                           {share, share - 0.01, std::min(1.0, share + 0.01)},
                           share >= 0.95 ? 0.995
                           : share > 0.9 ? 0.12
                                         : 0.0});
  }
  return made;
}

inline std::vector<trial::Trial> made_trials(const std::vector<std::int64_t>& batches, double fixed,
                                             double per_sample, double wait = 0) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : batches)
    trials.push_back(made_trial(batch, fixed, per_sample, wait));
  return trials;
}

}  // namespace sweetspot::tests
