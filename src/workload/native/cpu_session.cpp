#include <chrono>

#include "workload/native/feed.h"
#include "workload/native/session.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

class CpuSession final : public Session {
 public:
  CpuSession(const Run& run, const Options& options)
      : held_before_(core::live_buffers()),
        micro_batch_(options.micro_batch()),
        trainer_(still(make_trainer(run, options))),
        feed_(run.dataset.train, options.pipeline) {}

  trial::Step step() override {
    const auto start = Clock::now();
    const data::Batch batch = feed_.next();
    const auto loaded = Clock::now();
    const engine::StepResult result = trainer_->step(view(batch), micro_batch_);
    const auto end = Clock::now();

    trial::Step step;
    step.seconds = core::Seconds(end - start).count();
    step.samples = batch.count;
    divide(step, core::Seconds(loaded - start).count(), result);
    return step;
  }

  std::optional<core::MemoryByUse> memory_by_use() const override {
    core::MemoryByUse memory = core::live_buffers();
    return memory -= held_before_;
  }
  bool computes_on_cpus() const override { return true; }

 private:
  core::MemoryByUse held_before_;
  std::int64_t micro_batch_;
  std::unique_ptr<engine::Trainer> trainer_;
  Feed feed_;
};

}  // namespace

std::unique_ptr<Session> make_cpu_session(const Run& run, const Options& options) {
  return std::make_unique<CpuSession>(run, options);
}

}  // namespace sweetspot::workload::native
