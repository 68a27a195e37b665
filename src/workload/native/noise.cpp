#include "workload/native/noise.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>

#include "engine/gradient_norms.h"
#include "workload/native/epochs.h"
#include "workload/native/feed.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

Options quiet_options(const Run& run, const trial::Setting& setting) {
  Options options = training_options_at(run, setting);
  options.evaluate = options.noise_scale = false;
  options.pipeline.delay = {};  // irrelevant here
  return options;
}

// Shares of the time: before and after the training, which has the rest.
constexpr double share_before = 0.25, share_after = 0.35;
// Share of one measurement's samples, so that several of them fit into the time.
constexpr double share_of_one = 0.04;
constexpr std::int64_t least_samples = 16, most_useful_samples = 1024;

// At fixed weights: the plain mean over batches.
class NoiseMeter {
 public:
  NoiseMeter(const Run& run, engine::Trainer& trainer, data::PipelineOptions pipeline,
             std::int64_t largest, core::Seconds time)
      : run_(run), trainer_(trainer), pipeline_(pipeline) {
    pipeline_.workers = 0, pipeline_.prefetch = 1, pipeline_.cache = false;
    pipeline_.drop_last = true;
    const auto all = static_cast<std::int64_t>(run.dataset.train.count);
    const std::int64_t first = std::min({least_samples, largest, all});
    // A pass over a few, to estimate the time.
    pipeline_.batch = first;
    measure_one(first);
    const Clock::time_point begin = Clock::now();
    measure_one(first);
    const double seconds = core::Seconds(Clock::now() - begin).count() / static_cast<double>(first);
    const double affordable = share_of_one * time.count() / std::max(seconds, 1e-9);
    // Few samples tell little, however slow the machine is at this moment.
    const auto wanted = static_cast<std::int64_t>(std::clamp(
        affordable, static_cast<double>(first), static_cast<double>(most_useful_samples)));
    pipeline_.batch =
        std::min({static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted))),
                  largest, all});
  }

  std::optional<core::Interval> measure(core::Seconds time, const std::atomic<int>& stop) {
    constexpr int least_observations = 4;
    convergence::NoiseScale scale(1);
    if (pipeline_.batch < 2) return std::nullopt;
    ++pipeline_.seed;  // different samples each time
    Feed feed(run_.dataset.train, pipeline_);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; (i < least_observations || Clock::now() - begin < time) && stop == 0; ++i)
      scale.add(engine::gradient_norms(trainer_, run_.network, view(feed.next()), pipeline_.batch));
    const auto estimate = scale.estimate();
    return estimate ? estimate->samples : std::nullopt;
  }

 private:
  void measure_one(std::int64_t samples) {
    Feed feed(run_.dataset.train, pipeline_);
    trainer_.prepare(samples);
    engine::gradient_norms(trainer_, run_.network, view(feed.next()), samples);
  }

  const Run& run_;
  engine::Trainer& trainer_;
  data::PipelineOptions pipeline_;
};

}  // namespace

trial::GradientNoise measure_noise(const Run& run, const trial::Setting& setting,
                                   std::int64_t largest, core::Seconds time,
                                   const std::atomic<int>& stop) {
  const Clock::time_point begin = Clock::now();
  const Options options = quiet_options(run, setting);
  const std::unique_ptr<Epochs> epochs = make_epochs(run, options, stop);
  NoiseMeter meter(run, epochs->trainer(), options.pipeline, largest, time);
  trial::GradientNoise noise;
  noise.start = meter.measure(share_before * time, stop);
  std::int64_t samples = 0, steps = 0;
  epochs->start(0);
  do {
    const auto updates = epochs->next(std::numeric_limits<std::int64_t>::max());
    if (updates.empty()) break;
    for (const Update& update : updates) {
      samples += update.samples, ++steps;
      if (!std::isfinite(update.result.loss) && !noise.diverged_at_step)
        noise.diverged_at_step = steps;
    }
  } while (!noise.diverged_at_step && Clock::now() - begin < (1 - share_after) * time);
  noise.epochs = static_cast<double>(samples) / static_cast<double>(run.dataset.train.count);
  if (!noise.diverged_at_step) noise.later = meter.measure(share_after * time, stop);
  return noise;
}

trial::RateRun try_rate(const Run& run, const trial::Setting& setting, std::int64_t steps,
                        const std::atomic<int>& stop) {
  const Options options = quiet_options(run, setting);
  const std::unique_ptr<Epochs> epochs = make_epochs(run, options, stop);
  trial::RateRun tried{setting.learning_rate, 0, std::nullopt};
  const std::int64_t counted = std::max<std::int64_t>(1, steps / 4);
  double sum = 0;
  for (std::uint32_t epoch = 0; tried.steps < steps && stop == 0; ++epoch) {
    epochs->start(epoch);
    for (;;) {
      const auto updates = epochs->next(steps - tried.steps);
      if (updates.empty()) break;
      for (const Update& update : updates) {
        ++tried.steps;
        if (!std::isfinite(update.result.loss)) return tried;
        if (tried.steps > steps - counted) sum += update.result.loss;
      }
    }
  }
  if (tried.steps == steps) tried.loss = sum / static_cast<double>(counted);
  return tried;
}

}  // namespace sweetspot::workload::native
