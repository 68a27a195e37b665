#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "engine/cuda/cuda.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// One trainer for sessions that are open at the same time and differ in no more than batch,
// accumulation, workers and prefetch: weights, gradients, optimizer state and a data set that stays
// on the GPU are there once, and one plan for each micro-batch. Used by one thread at a time.
//
// Its learning rate is 0: sessions measure and do not teach. Where many gradients are zero a step
// is faster, by a tenth and more, so its time changes as the network learns, and a small batch
// makes many more steps in a second than a large one: they would be compared at different states.
// Steps do all their work, and the weights stay those that the seed gave, whoever stepped before.
class SharedTrainer {
 public:
  SharedTrainer(const Run& run, const Options& options);

  engine::Trainer& trainer() const { return *trainer_; }
  engine::cuda::ResidentTrainer& gpu_trainer() const { return *gpu_trainer_; }  // on a GPU only

  // The plan of a micro-batch is made for its first user and released behind its last.
  void acquire(std::int64_t micro_batch);
  void release(std::int64_t micro_batch) noexcept;

  // What the trainer takes with this plan as its only one; it must have been acquired.
  core::MemoryByUse memory(std::int64_t micro_batch) const;
  // All that is held now of the memory that predictions are about: the trainer's on a GPU, every
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
