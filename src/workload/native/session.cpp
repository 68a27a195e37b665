#include "workload/native/session.h"

#include <utility>

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

}  // namespace sweetspot::workload::native
