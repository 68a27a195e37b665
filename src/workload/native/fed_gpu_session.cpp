#include <chrono>
#include <utility>

#include "workload/native/feed.h"
#include "workload/native/session.h"
#include "workload/pace.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// The last batch of a step has no next one to hide its copy: keep such steps rare.
constexpr double least_fed_seconds = 0.02;

class FedGpuSession final : public NativeSession {
 public:
  FedGpuSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options),
        trainer_(this->shared().gpu_trainer()),
        batch_(options.batch()),
        feed_(run.dataset.train, options.pipeline),
        shares_(trainer_, run, options),
        pace_(least_fed_seconds) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    trial::Step step;
    step.updates = pace_.steps();
    step.samples = step.updates * batch_;
    core::Seconds waited{0};
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < step.updates; ++i) {
      const auto before = Clock::now();
      const data::Batch batch = feed_.next();
      waited += Clock::now() - before;
      trainer_.queue(view(batch), micro_batch());
    }
    trainer_.finish();
    step.seconds = core::Seconds(Clock::now() - start).count();
    shares_.divide(step, waited.count());
    pace_.took(step.seconds);
    return step;
  }

  engine::cuda::ResidentTrainer& trainer_;
  std::int64_t batch_;
  Feed feed_;
  PhaseShares shares_;
  Pace pace_;
};

}  // namespace

std::unique_ptr<Session> make_fed_gpu_session(const Run& run, const Options& options,
                                              std::shared_ptr<SharedTrainer> shared) {
  return std::make_unique<FedGpuSession>(run, options, std::move(shared));
}

}  // namespace sweetspot::workload::native
