#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "engine/cuda/cuda.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// One trainer for sessions that are open at the same time and differ only in batch, accumulation,
// workers and prefetch: weights, gradients, optimizer state and a device-resident data set exist
// once, and one plan per micro-batch. Used by one thread at a time.
//
// Its learning rate is 0: sessions measure and do not train. If many gradients are zero a step is
// faster, by a tenth and more, so its time changes as the network learns, and a small batch makes
// many more steps per second than a large one: they would be compared in different states. Steps do
// all their work, and the weights stay those of the seed, whichever session stepped before.
class SharedTrainer {
 public:
  SharedTrainer(const Run& run, const Options& options);

  engine::Trainer& trainer() const { return *trainer_; }
  engine::cuda::ResidentTrainer& gpu_trainer() const { return *gpu_trainer_; }  // on a GPU only

  // The plan of a micro-batch is made for its first user and released after its last.
  void acquire(std::int64_t micro_batch);
  void release(std::int64_t micro_batch) noexcept;

  // The trainer's memory with this plan as its only one; it must have been acquired.
  core::MemoryByUse memory(std::int64_t micro_batch) const;
  // All that is currently held of the memory that is predicted: the trainer's on a GPU, every
  // Buffer of the process on the CPU.
  core::MemoryByUse held() const;

 private:
  struct SharedPlan {
    int users = 0;
    core::MemoryByUse memory;
  };

  std::unique_ptr<engine::Trainer> trainer_;
  engine::cuda::ResidentTrainer* gpu_trainer_ = nullptr;  // the same one, on a GPU
  core::MemoryByUse memory_;                              // without any plan
  std::map<std::int64_t, SharedPlan> plans_;              // by micro-batch
};

}  // namespace sweetspot::workload::native
