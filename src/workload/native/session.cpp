#include "workload/native/session.h"

#include <utility>

#include "workload/native/resident.h"

namespace sweetspot::workload::native {

NativeSession::NativeSession(std::shared_ptr<SharedTrainer> shared, const Options& options)
    : shared_(std::move(shared)), micro_batch_(options.micro_batch()) {
  shared_->acquire(micro_batch_);
  held_before_ = shared_->held();
}

void NativeSession::count_memory() {
  own_ += shared_->held();
  own_ -= held_before_;
}

trial::Step NativeSession::step() {
  held_before_ = shared_->held();
  const trial::Step step = run_step();
  count_memory();
  return step;
}

std::optional<core::MemoryByUse> NativeSession::memory_by_use() const {
  core::MemoryByUse memory = shared_->memory(micro_batch_);
  return memory += own_;
}

std::unique_ptr<Session> Sessions::open(const Run& run, const Options& options) {
  std::weak_ptr<SharedTrainer>& trainer = trainers_[{options.precision, options.seed}];
  std::shared_ptr<SharedTrainer> shared = trainer.lock();
  if (!shared) trainer = shared = std::make_shared<SharedTrainer>(run, options);
  if (!options.device.gpu) return make_cpu_session(run, options, std::move(shared));
  return is_resident(options, run.dataset) ? make_resident_session(run, options, std::move(shared))
                                           : make_fed_gpu_session(run, options, std::move(shared));
}

}  // namespace sweetspot::workload::native
