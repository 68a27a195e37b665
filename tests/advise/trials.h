#pragma once
#include "trial/trial.h"

namespace sweetspot::tests {

// A finished trial of a step that takes fixed + batch × per_sample seconds, of which a share is
// waiting for data.
inline trial::Trial made_trial(std::int64_t batch, double fixed, double per_sample,
                               double data_wait_share = 0) {
  trial::Trial t;
  t.setting.batch = batch;
  t.stop_reason = trial::StopReason::precise;
  const double step = fixed + per_sample * static_cast<double>(batch);
  const double speed = static_cast<double>(batch) / step;
  t.samples_per_second = trial::Interval{speed, 0.99 * speed, 1.01 * speed};
  t.step_seconds_median = step;
  t.steps = 40;
  const double work = step * (1 - data_wait_share);
  t.phases = trial::PhaseSeconds{step * data_wait_share, 0.4 * work, 0.6 * work, 0, 0};
  t.memory_predicted = t.memory_measured = static_cast<core::Bytes>(1'000'000 + 1000 * batch);
  return t;
}

}  // namespace sweetspot::tests
