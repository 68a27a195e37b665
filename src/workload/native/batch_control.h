#pragma once
#include <optional>
#include <vector>

#include "convergence/batch_growth.h"
#include "convergence/noise_scale.h"
#include "workload/native/options.h"

namespace sweetspot::workload::native {

// From an update on, the batch and the learning rate that goes with it.
struct BatchChange {
  double from_epoch = 0;  // epochs behind it
  std::int64_t batch = 0;
  double learning_rate = 0;
  std::optional<double> noise_scale;  // what it was at least, as far as was known then
};

// Decides which batch the next update takes: the one there is, a schedule's, or the one that makes
// most progress a second at what the noise scale is at least. A dynamic batch is decided twenty
// times an epoch and only grows, a rung at a time; each rung looks at the noise anew.
class BatchControl {
 public:
  explicit BatchControl(const Options& options) : options_(options) {}

  // Of the dynamic batch's ladder, ascending; those left out are never taken.
  void set_speeds(std::vector<convergence::BatchSpeed> speeds) { speeds_ = std::move(speeds); }
  const std::vector<convergence::BatchSpeed>& speeds() const { return speeds_; }

  void add(const engine::StepResult& update);  // what it tells of the noise
  // After so many epochs; at the start of the run, and wherever something changes.
  std::optional<BatchChange> after(double epochs);
  std::optional<double> noise_scale() const { return noise_.at_least(); }

 private:
  std::int64_t batch_after(double epochs);

  const Options& options_;
  std::vector<convergence::BatchSpeed> speeds_;
  convergence::NoiseBound noise_;
  std::int64_t batch_ = 0;  // none yet
  std::int64_t decisions_ = 0;
};

}  // namespace sweetspot::workload::native
