#include "workload/native/shared_trainer.h"

#include "core/error.h"
#include "workload/native/resident.h"

namespace sweetspot::workload::native {

SharedTrainer::SharedTrainer(const Run& run, const Options& options) {
  core::MemoryByUse before;
  if (options.device.gpu) {
    auto trainer = make_gpu_trainer(run, options);
    gpu_trainer_ = trainer.get();
    trainer_ = std::move(trainer);
  } else {
    before = held();
    trainer_ = make_trainer(run, options);
  }
  trainer_->set_learning_rate(0);
  memory_ = held();
  memory_ -= before;
}

void SharedTrainer::acquire(std::int64_t micro_batch) {
  const auto found = plans_.find(micro_batch);
  if (found != plans_.end()) {
    ++found->second.users;
    return;
  }
  const core::MemoryByUse before = held();
  trainer_->prepare(micro_batch);
  core::MemoryByUse plan = held();
  plans_[micro_batch] = {1, plan -= before};
}

void SharedTrainer::release(std::int64_t micro_batch) noexcept {
  const auto found = plans_.find(micro_batch);
  if (--found->second.users > 0) return;
  plans_.erase(found);
  try {
    trainer_->release(micro_batch);
  } catch (const core::MachineError&) {
    // The device is lost, and its memory with it; the next call reports it.
  }
}

core::MemoryByUse SharedTrainer::memory(std::int64_t micro_batch) const {
  core::MemoryByUse memory = memory_;
  return memory += plans_.at(micro_batch).memory;
}

core::MemoryByUse SharedTrainer::held() const {
  return gpu_trainer_ ? gpu_trainer_->memory() : core::live_buffers();
}

}  // namespace sweetspot::workload::native
