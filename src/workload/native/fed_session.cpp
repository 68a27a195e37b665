#include <chrono>
#include <functional>

#include "workload/native/feed.h"
#include "workload/native/resident.h"
#include "workload/native/session.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(core::Seconds duration) { return duration.count(); }

// A trainer, and what it holds with all that belongs to it.
struct Held {
  std::unique_ptr<engine::Trainer> trainer;
  std::function<core::Bytes()> memory;
};

Held hold_on_cpu(const Run& run, const Options& options) {
  const core::Bytes before = core::live_buffers().total();
  return {make_trainer(run, options), [before] { return core::live_buffers().total() - before; }};
}

Held hold_on_gpu(const Run& run, const Options& options) {
  auto trainer = make_gpu_trainer(run, options);
  const engine::cuda::ResidentTrainer& gpu = *trainer;
  return {std::move(trainer), [&gpu] { return gpu.memory().total(); }};
}

class FedSession final : public Session {
 public:
  FedSession(const Run& run, const Options& options)
      : micro_batch_(options.micro_batch()),
        held_(options.device.gpu ? hold_on_gpu(run, options) : hold_on_cpu(run, options)),
        feed_(run.dataset.train, options.pipeline) {}

  trial::Step step() override {
    const auto start = Clock::now();
    const data::Batch batch = feed_.next();
    const auto loaded = Clock::now();
    const engine::StepResult result = held_.trainer->step(view(batch), micro_batch_);
    const auto end = Clock::now();

    trial::Step step;
    step.seconds = seconds(end - start);
    step.samples = batch.count;
    divide(step, seconds(loaded - start), result);
    return step;
  }
  std::optional<core::Bytes> memory() const override { return held_.memory(); }

 private:
  std::int64_t micro_batch_;
  Held held_;
  Feed feed_;
};

}  // namespace

std::unique_ptr<Session> make_fed_session(const Run& run, const Options& options) {
  return std::make_unique<FedSession>(run, options);
}

}  // namespace sweetspot::workload::native
