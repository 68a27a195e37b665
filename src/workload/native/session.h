#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// Sessions of a native workload at these options; `run` must outlive them. On a GPU a step is as
// many updates as make it worth timing: they run without waiting for the host, as in training.

// Batches come from the pipeline, and each is a step of the CPU.
std::unique_ptr<Session> make_cpu_session(const Run& run, const Options& options);
// Batches come from the pipeline, and go to the GPU while it works at the one before.
std::unique_ptr<Session> make_fed_gpu_session(const Run& run, const Options& options);
// The data set lies on the GPU.
std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options);

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
