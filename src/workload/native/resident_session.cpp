#include <algorithm>
#include <chrono>

#include "workload/native/resident.h"
#include "workload/native/session.h"
#include "workload/pace.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// Starting and collecting steps takes the host some 30 µs: 0.3% of this.
constexpr double least_seconds = 0.01;
// The engine launches so many steps at once, where there are as many.
constexpr std::int64_t steps_of_a_graph = 20;

double seconds(core::Seconds duration) { return duration.count(); }

class ResidentSession final : public Session {
 public:
  ResidentSession(const Run& run, const Options& options)
      : batch_(options.batch()),
        micro_batch_(options.micro_batch()),
        steps_in_epoch_(static_cast<std::int64_t>(run.dataset.train.count) / batch_),
        trainer_(make_gpu_trainer(run, options)),
        orders_(run.dataset.train.count, options.pipeline),
        pace_(least_seconds),
        phases_(sample_phases(run)) {}

  trial::Step step() override {
    trial::Step step;
    step.updates = updates();
    step.samples = step.updates * batch_;
    const auto count = static_cast<std::size_t>(step.samples);
    const auto start = Clock::now();
    fill(count);
    const auto filled = Clock::now();
    trainer_->start(std::span(ahead_).first(count), batch_, micro_batch_);
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(count));
    fill(count);  // while the device works
    trainer_->finish();
    step.seconds = seconds(Clock::now() - start);
    const double wait = seconds(filled - start);
    const double whole = seconds(phases_.forward + phases_.backward + phases_.update);
    const double scale = (step.seconds - wait) / whole;
    divide(step, wait,
           {0, 0, scale * phases_.forward, scale * phases_.backward, scale * phases_.update});
    if (step.updates >= pace_.steps()) pace_.took(step.seconds);
    return step;
  }

  std::optional<core::Bytes> memory() const override { return trainer_->memory().total(); }

 private:
  // As many as the pace asks for, in whole graphs, and no more than an epoch has.
  std::int64_t updates() const {
    std::int64_t count = pace_.steps();
    if (count > steps_of_a_graph)
      count = (count + steps_of_a_graph - 1) / steps_of_a_graph * steps_of_a_graph;
    return std::min(count, steps_in_epoch_);
  }

  // Samples to come, epoch after epoch, each without its last, smaller batch.
  void fill(std::size_t count) {
    const auto in_epoch = static_cast<std::size_t>(steps_in_epoch_ * batch_);
    while (ahead_.size() < count) {
      const auto order = orders_.at(epoch_++).first(in_epoch);
      ahead_.insert(ahead_.end(), order.begin(), order.end());
    }
  }

  // Within a graph no phase has a clock of its own: they share its time as they do in a step that
  // is launched by itself. A part of a large batch tells that as well.
  engine::StepResult sample_phases(const Run& run) {
    constexpr core::Bytes most_bytes = 64 * core::MiB;
    const data::Samples& samples = run.dataset.train;
    const auto size = static_cast<std::size_t>(samples.sample_size());
    const std::size_t count =
        std::min<std::size_t>(static_cast<std::size_t>(micro_batch_),
                              std::max<std::size_t>(1, most_bytes / (size * sizeof(float))));
    std::vector<float> inputs(count * size);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] =
          samples.bytes.empty() ? samples.floats[i] : static_cast<float>(samples.bytes[i]) / 255;
    const engine::BatchView batch{static_cast<std::int64_t>(count), inputs.data(),
                                  samples.labels.empty() ? nullptr : samples.labels.data(),
                                  samples.targets.empty() ? nullptr : samples.targets.data()};
    trainer_->accumulate(batch, micro_batch_);  // warms up
    return trainer_->step(batch, micro_batch_);
  }

  std::int64_t batch_, micro_batch_, steps_in_epoch_;
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
  Orders orders_;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> ahead_;
  Pace pace_;
  engine::StepResult phases_;
};

}  // namespace

std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options) {
  return std::make_unique<ResidentSession>(run, options);
}

}  // namespace sweetspot::workload::native
