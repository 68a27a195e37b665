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

// A session measures and does not teach. Where many gradients are zero a step is faster, by a tenth
// and more, so its time changes as the network learns, and a small batch makes many more steps in a
// second than a large one: they would be compared at different states. Steps do all their work; the
// weights stay those that the seed gave.
template <class Trainer>
std::unique_ptr<Trainer> still(std::unique_ptr<Trainer> trainer) {
  trainer->set_learning_rate(0);
  return trainer;
}

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
