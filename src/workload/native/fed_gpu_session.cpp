#include <chrono>

#include "workload/native/feed.h"
#include "workload/native/resident.h"
#include "workload/native/session.h"
#include "workload/pace.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// The last batch of a step has nothing behind it to hide its copy: few of them per second.
constexpr double least_fed_seconds = 0.02;

class FedGpuSession final : public Session {
 public:
  FedGpuSession(const Run& run, const Options& options)
      : batch_(options.batch()),
        micro_batch_(options.micro_batch()),
        trainer_(still(make_gpu_trainer(run, options))),
        feed_(run.dataset.train, options.pipeline),
        shares_(*trainer_, run, options),
        pace_(least_fed_seconds) {}

  trial::Step step() override {
    trial::Step step;
    step.updates = pace_.steps();
    step.samples = step.updates * batch_;
    core::Seconds waited{0};
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < step.updates; ++i) {
      const auto before = Clock::now();
      const data::Batch batch = feed_.next();
      waited += Clock::now() - before;
      trainer_->queue(view(batch), micro_batch_);
    }
    trainer_->finish();
    step.seconds = core::Seconds(Clock::now() - start).count();
    shares_.divide(step, waited.count());
    pace_.took(step.seconds);
    return step;
  }

  std::optional<core::MemoryByUse> memory_by_use() const override { return trainer_->memory(); }

 private:
  std::int64_t batch_, micro_batch_;
  std::unique_ptr<engine::cuda::ResidentTrainer> trainer_;
  Feed feed_;
  PhaseShares shares_;
  Pace pace_;
};

}  // namespace

std::unique_ptr<Session> make_fed_gpu_session(const Run& run, const Options& options) {
  return std::make_unique<FedGpuSession>(run, options);
}

}  // namespace sweetspot::workload::native
