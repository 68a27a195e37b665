#include <algorithm>

#include "workload/native/session.h"

namespace sweetspot::workload::native {
namespace {

// For a large batch a part shows the shares as well, and takes less to convert.
constexpr core::Bytes most_bytes = 64 * core::MiB;

}  // namespace

void divide(trial::Step& step, double data_wait, const engine::StepResult& work) {
  const auto set = [&](trial::Phase which, double seconds) {
    step.phases[static_cast<std::size_t>(which)] = seconds;
  };
  set(trial::Phase::data_wait, data_wait);
  set(trial::Phase::forward, work.forward.count());
  set(trial::Phase::backward, work.backward.count());
  set(trial::Phase::optimizer, work.update.count());
  const core::Seconds working = work.forward + work.backward + work.update;
  set(trial::Phase::overhead, std::max(0.0, step.seconds - data_wait - working.count()));
}

PhaseShares::PhaseShares(engine::Trainer& trainer, const Run& run, const Options& options) {
  const data::Samples& samples = run.dataset.train;
  const auto size = static_cast<std::size_t>(samples.sample_size());
  const std::size_t count = std::clamp<std::size_t>(
      most_bytes / (size * sizeof(float)), 1, static_cast<std::size_t>(options.micro_batch()));
  std::vector<float> inputs(count * size);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] =
        samples.bytes.empty() ? samples.floats[i] : static_cast<float>(samples.bytes[i]) / 255;
  const engine::BatchView batch{static_cast<std::int64_t>(count), inputs.data(),
                                samples.labels.empty() ? nullptr : samples.labels.data(),
                                samples.targets.empty() ? nullptr : samples.targets.data()};
  trainer.accumulate(batch, options.micro_batch());  // warms up
  sample_ = trainer.step(batch, options.micro_batch());
}

void PhaseShares::divide(trial::Step& step, double data_wait) const {
  const double whole = (sample_.forward + sample_.backward + sample_.update).count();
  const double scale = whole > 0 ? (step.seconds - data_wait) / whole : 0;
  native::divide(
      step, data_wait,
      {0, 0, scale * sample_.forward, scale * sample_.backward, scale * sample_.update, {}, {}});
}

}  // namespace sweetspot::workload::native
