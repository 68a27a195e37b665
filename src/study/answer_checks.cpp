#include "study/answer_checks.h"

#include <algorithm>
#include <new>

#include "core/error.h"

namespace sweetspot::study {
namespace {

// What the rounds leave of 20 seconds on a CPU, and of 8 on a GPU.
constexpr core::Seconds cpu_noise_time{1.6}, gpu_noise_time{0.6};
// Per run at a learning rate.
constexpr double rate_seconds = 3;
constexpr std::int64_t least_rate_steps = 20, most_rate_steps = 2000;

// The answer does not depend on what cannot be measured in addition.
template <class Measure>
auto unless_it_fails(Loop& loop, Measure measure) -> decltype(measure()) {
  try {
    return measure();
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<trial::GradientNoise> measure_noise(Loop& loop, workload::Workload& workload,
                                                  const advise::Recommendation& made,
                                                  const advise::LearningRateBase& base) {
  if (!loop.may_go_on()) return std::nullopt;
  core::Seconds time = workload.device() == "cpu" ? cpu_noise_time : gpu_noise_time;
  if (loop.options().budget) time = std::min(time, *loop.options().budget - loop.spent());
  trial::Setting setting = made.setting;
  setting.batch =
      std::min({base.batch, made.setting.batch, workload.samples().value_or(base.batch)});
  setting.accumulation = 1;
  setting.learning_rate = base.rate;
  return unless_it_fails(loop, [&] {
    return workload.gradient_noise(setting, made.setting.micro_batch(), time, loop.stop());
  });
}

std::vector<trial::RateRun> check_rate(Loop& loop, workload::Workload& workload,
                                       const advise::Recommendation& made) {
  const double per_second = made.samples_per_second / static_cast<double>(made.setting.batch);
  const auto steps = std::clamp(static_cast<std::int64_t>(rate_seconds * per_second),
                                least_rate_steps, most_rate_steps);
  std::vector<trial::RateRun> runs;
  for (const double factor : {0.5, 1., 2.}) {
    if (!loop.may_go_on()) return {};
    trial::Setting setting = made.setting;
    setting.learning_rate = factor * made.learning_rate->by_rule;
    const auto run =
        unless_it_fails(loop, [&] { return workload.try_rate(setting, steps, loop.stop()); });
    if (!run) return {};
    runs.push_back(*run);
  }
  return loop.may_go_on() ? runs : std::vector<trial::RateRun>{};
}

std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made) {
  constexpr core::Seconds usual_time{3};
  if (!loop.may_go_on()) return std::nullopt;
  core::Seconds time = usual_time;
  if (loop.options().budget) time = std::min(time, *loop.options().budget - loop.spent());
  try {
    return workload.scaling(made.setting, time, loop.stop());
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::OutOfMemory&) {  // the answer does not depend on it
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

}  // namespace sweetspot::study
