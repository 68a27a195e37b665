#include <chrono>
#include <utility>

#include "workload/native/feed.h"
#include "workload/native/session.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

class CpuSession final : public NativeSession {
 public:
  CpuSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options), feed_(run.dataset.train, options.pipeline) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    const auto start = Clock::now();
    const data::Batch batch = feed_.next();
    const auto loaded = Clock::now();
    const engine::StepResult result = shared().trainer().step(view(batch), micro_batch());
    const auto end = Clock::now();

    trial::Step step;
    step.seconds = core::Seconds(end - start).count();
    step.samples = batch.whole;  // of all ranks
    divide(step, core::Seconds(loaded - start).count(), result);
    return step;
  }

  Feed feed_;
};

}  // namespace

std::unique_ptr<Session> make_cpu_session(const Run& run, const Options& options,
                                          std::shared_ptr<SharedTrainer> shared) {
  return std::make_unique<CpuSession>(run, options, std::move(shared));
}

}  // namespace sweetspot::workload::native
