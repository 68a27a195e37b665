#include "measure/evaluation_schedule.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::measure {
namespace {

constexpr double first_share = 0.05;               // of an epoch
constexpr std::int64_t first_samples = 1000;       // if the epoch's length is unknown
constexpr double least_step = 1.1, most_step = 2;  // times as many samples

}  // namespace

EvaluationSchedule::EvaluationSchedule(const trial::Target& target,
                                       std::optional<std::int64_t> samples_in_epoch)
    : target_(target),
      next_(samples_in_epoch
                ? std::max<std::int64_t>(
                      1, std::llround(first_share * static_cast<double>(*samples_in_epoch)))
                : first_samples) {}

// Errors and losses fall at most as the inverse square of the samples: until then the target cannot
// have been reached.
void EvaluationSchedule::evaluated(const trial::Evaluation& evaluation) {
  const std::optional<double> off = trial::times_off(evaluation, target_);
  const double step = off ? std::clamp(std::sqrt(*off), least_step, most_step) : least_step;
  next_ = std::max<std::int64_t>(evaluation.samples + 1,
                                 std::llround(step * static_cast<double>(evaluation.samples)));
}

}  // namespace sweetspot::measure
