#pragma once
#include <map>
#include <memory>
#include <utility>

#include "workload/native/shared_trainer.h"
#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// Common to the sessions of a native workload: while open, each holds the plan of its micro-batch
// in a trainer that it may share. The memory it reports is what it would take alone: the trainer
// with that plan, and what it allocated at construction and in its own steps.
class NativeSession : public Session {
 public:
  ~NativeSession() override { shared_->release(micro_batch_); }
  trial::Step step() final;
  std::optional<core::MemoryByUse> memory_by_use() const final;

 protected:
  NativeSession(std::shared_ptr<SharedTrainer> shared, const Options& options);
  // The last line of a constructor: what was allocated since this base was constructed is the
  // session's own.
  void count_memory();
  virtual trial::Step run_step() = 0;

  SharedTrainer& shared() const { return *shared_; }
  std::int64_t micro_batch() const { return micro_batch_; }

 private:
  std::shared_ptr<SharedTrainer> shared_;
  std::int64_t micro_batch_;
  core::MemoryByUse held_before_, own_;
};

// Opens sessions that share a trainer if possible.
class Sessions {
 public:
  // `run` must outlive the session.
  std::unique_ptr<Session> open(const Run& run, const Options& options);

 private:
  using Key = std::pair<engine::Precision, std::uint64_t>;  // and the seed
  std::map<Key, std::weak_ptr<SharedTrainer>> trainers_;    // owned by the sessions
};

// Sessions of a native workload at these options; `run` must outlive them. On a GPU a step has as
// many updates as make it worth timing: they run without waiting for the host, as in training.

// Batches come from the pipeline, and each is a step of the CPU.
std::unique_ptr<Session> make_cpu_session(const Run& run, const Options& options,
                                          std::shared_ptr<SharedTrainer> shared);
// Batches come from the pipeline, and are copied to the GPU while it processes the previous one.
std::unique_ptr<Session> make_fed_gpu_session(const Run& run, const Options& options,
                                              std::shared_ptr<SharedTrainer> shared);
// The data set is on the GPU.
std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options,
                                               std::shared_ptr<SharedTrainer> shared);

// Divides a step's time, except the data wait, among its phases.
void divide(trial::Step& step, double data_wait, const engine::StepResult& work);

// If steps run back to back without a clock between the phases, the time is divided in the
// proportions of a separately launched step.
class PhaseShares {
 public:
  PhaseShares(engine::Trainer& trainer, const Run& run, const Options& options);
  void divide(trial::Step& step, double data_wait) const;

 private:
  engine::StepResult sample_;
};

}  // namespace sweetspot::workload::native
