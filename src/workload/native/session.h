#pragma once
#include <map>
#include <memory>
#include <utility>

#include "workload/native/shared_trainer.h"
#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// What the sessions of a native workload have in common: while it is open, each holds the plan of
// its micro-batch in a trainer that it may share. What it tells of memory is what it would take by
// itself: the trainer with that plan, and what it took when it was made and at its own steps.
class NativeSession : public Session {
 public:
  ~NativeSession() override { shared_->release(micro_batch_); }
  trial::Step step() final;
  std::optional<core::MemoryByUse> memory_by_use() const final;

 protected:
  NativeSession(std::shared_ptr<SharedTrainer> shared, const Options& options);
  // The last line of a constructor: what was taken since this part was made is the session's own.
  void count_memory();
  virtual trial::Step run_step() = 0;

  SharedTrainer& shared() const { return *shared_; }
  std::int64_t micro_batch() const { return micro_batch_; }

 private:
  std::shared_ptr<SharedTrainer> shared_;
  std::int64_t micro_batch_;
  core::MemoryByUse held_before_, own_;
};

// Opens sessions, of which those that may share a trainer do.
class Sessions {
 public:
  // `run` must outlive the session.
  std::unique_ptr<Session> open(const Run& run, const Options& options);

 private:
  using Key = std::pair<engine::Precision, std::uint64_t>;  // and the seed
  std::map<Key, std::weak_ptr<SharedTrainer>> trainers_;    // the sessions' own
};

// Sessions of a native workload at these options; `run` must outlive them. On a GPU a step is as
// many updates as make it worth timing: they run without waiting for the host, as in training.

// Batches come from the pipeline, and each is a step of the CPU.
std::unique_ptr<Session> make_cpu_session(const Run& run, const Options& options,
                                          std::shared_ptr<SharedTrainer> shared);
// Batches come from the pipeline, and go to the GPU while it works at the one before.
std::unique_ptr<Session> make_fed_gpu_session(const Run& run, const Options& options,
                                              std::shared_ptr<SharedTrainer> shared);
// The data set lies on the GPU.
std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options,
                                               std::shared_ptr<SharedTrainer> shared);

// What of a step's time is not waiting for data, by its phases.
void divide(trial::Step& step, double data_wait, const engine::StepResult& work);

// Where steps follow each other without a clock between the phases, they share the time as they do
// in a step that is launched by itself.
class PhaseShares {
 public:
  PhaseShares(engine::Trainer& trainer, const Run& run, const Options& options);
  void divide(trial::Step& step, double data_wait) const;

 private:
  engine::StepResult sample_;
};

}  // namespace sweetspot::workload::native
