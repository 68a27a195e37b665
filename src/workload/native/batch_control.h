#pragma once
#include <optional>
#include <vector>

#include "convergence/batch_growth.h"
#include "convergence/noise_scale.h"
#include "workload/native/options.h"

namespace sweetspot::workload::native {

// A change of the batch and its learning rate.
struct BatchChange {
  double from_epoch = 0;  // epochs behind it
  std::int64_t batch = 0;
  double learning_rate = 0;
  std::optional<double> noise_scale;  // lower bound, if known then
};

// Decides the batch of the next update: fixed, a schedule's, or the one with the most progress per
// second at the lower bound of the noise scale. A dynamic batch is decided twenty times per epoch
// and only grows, one rung at a time; each rung measures the noise again.
class BatchControl {
 public:
  explicit BatchControl(const Options& options) : options_(options) {}

  // Of the dynamic batch's ladder, ascending; missing ones are never used.
  void set_speeds(std::vector<convergence::Rung> speeds) { speeds_ = std::move(speeds); }
  const std::vector<convergence::Rung>& speeds() const { return speeds_; }

  void add(const engine::StepResult& update);  // its noise norms
  // After this many epochs; set at the start of the run, and whenever something changes.
  std::optional<BatchChange> after(double epochs);
  std::optional<double> noise_scale() const { return noise_.at_least(); }

 private:
  std::int64_t batch_after(double epochs);

  const Options& options_;
  std::vector<convergence::Rung> speeds_;
  convergence::NoiseBound noise_;
  std::int64_t batch_ = 0;  // none yet
  std::int64_t decisions_ = 0;
};

}  // namespace sweetspot::workload::native
