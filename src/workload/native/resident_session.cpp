#include <algorithm>
#include <chrono>
#include <utility>

#include "workload/native/resident.h"
#include "workload/native/session.h"
#include "workload/pace.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// Starting and collecting steps takes the host some 30 µs: 0.3% of this.
constexpr double least_resident_seconds = 0.01;

class ResidentSession final : public NativeSession {
 public:
  ResidentSession(const Run& run, const Options& options, std::shared_ptr<SharedTrainer> shared)
      : NativeSession(std::move(shared), options),
        trainer_(this->shared().gpu_trainer()),
        batch_(options.batch()),
        steps_in_epoch_(static_cast<std::int64_t>(run.dataset.train.count) / batch_),
        orders_(run.dataset.train.count, options.pipeline),
        shares_(trainer_, run, options),
        pace_(least_resident_seconds) {
    count_memory();
  }

 private:
  trial::Step run_step() override {
    trial::Step step;
    step.updates = updates();
    step.samples = step.updates * batch_;
    const auto count = static_cast<std::size_t>(step.samples);
    const auto start = Clock::now();
    fill(count);
    const auto filled = Clock::now();
    trainer_.start(std::span(ahead_).first(count), batch_, micro_batch());
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(count));
    fill(count);  // while the device works
    trainer_.finish();
    step.seconds = core::Seconds(Clock::now() - start).count();
    shares_.divide(step, core::Seconds(filled - start).count());
    if (step.updates >= pace_.steps()) pace_.took(step.seconds);
    return step;
  }

  // As many as the pace says, in whole graphs, and no more than an epoch has.
  std::int64_t updates() const { return std::min(whole_graphs(pace_.steps()), steps_in_epoch_); }

  // The next samples, epoch after epoch, each without its last, smaller batch.
  void fill(std::size_t count) {
    const auto in_epoch = static_cast<std::size_t>(steps_in_epoch_ * batch_);
    while (ahead_.size() < count) {
      const auto order = orders_.at(epoch_++).first(in_epoch);
      ahead_.insert(ahead_.end(), order.begin(), order.end());
    }
  }

  engine::cuda::ResidentTrainer& trainer_;
  std::int64_t batch_, steps_in_epoch_;
  Orders orders_;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> ahead_;
  PhaseShares shares_;
  Pace pace_;
};

}  // namespace

std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options,
                                               std::shared_ptr<SharedTrainer> shared) {
  return std::make_unique<ResidentSession>(run, options, std::move(shared));
}

}  // namespace sweetspot::workload::native
