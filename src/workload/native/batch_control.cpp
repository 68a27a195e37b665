#include "workload/native/batch_control.h"

#include <cmath>

#include "convergence/learning_rate_rule.h"

namespace sweetspot::workload::native {
namespace {

constexpr double decisions_per_epoch = 20;

}  // namespace

void BatchControl::add(const engine::StepResult& update) {
  if (update.gradient_norms) noise_.add(*update.gradient_norms);
}

std::optional<BatchChange> BatchControl::after(double epochs) {
  const std::int64_t batch = batch_after(epochs);
  if (batch == batch_) return std::nullopt;
  batch_ = batch;
  const std::optional<double> noise = noise_scale();
  noise_.reset();
  const engine::Optimizer& optimizer = options_.optimizer;
  return BatchChange{epochs, batch,
                     convergence::learning_rate(options_.rule(), optimizer.learning_rate,
                                                static_cast<double>(options_.first_batch()),
                                                static_cast<double>(batch), noise),
                     noise};
}

std::int64_t BatchControl::batch_after(double epochs) {
  if (!options_.schedule.empty()) return native::batch_after(options_.schedule, epochs);
  if (!options_.dynamic) return options_.batch();
  if (batch_ == 0) return options_.first_batch();
  const auto due = static_cast<std::int64_t>(epochs * decisions_per_epoch + epoch_rounding);
  if (due == decisions_) return batch_;
  decisions_ = due;
  const std::optional<double> noise = noise_scale();
  return noise && !speeds_.empty() ? convergence::grown_batch(speeds_, batch_, *noise) : batch_;
}

}  // namespace sweetspot::workload::native
