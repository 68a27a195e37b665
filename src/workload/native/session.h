#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// Sessions of a native workload at these options; `run` must outlive them.

// Batches come from the pipeline, and each is a step.
std::unique_ptr<Session> make_fed_session(const Run& run, const Options& options);

// The data set lies on the GPU. A step is as many updates as make it worth timing: they run in
// graphs without waiting for the host, as in training.
std::unique_ptr<Session> make_resident_session(const Run& run, const Options& options);

// Divides what is not waiting for data among the phases.
void divide(trial::Step& step, double data_wait, const engine::StepResult& work);

}  // namespace sweetspot::workload::native
