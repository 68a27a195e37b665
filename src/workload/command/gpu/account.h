#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/trial.h"
#include "workload/command/gpu/watch.h"

namespace sweetspot::workload::command::gpu {

// What earlier trials of a program held: the most on one GPU, by batch.
using History = std::map<std::int64_t, core::Bytes>;

// What a trial tells of the GPUs that its program used.
struct GpuAccount {
  std::vector<trial::GpuUse> gpus;
  // Of the fullest: that which a larger batch overflows first. No peak where it means nothing.
  std::optional<core::Bytes> peak, capacity;
  std::string source, note;
};
// `preallocator`: what was seen that takes most of a GPU at start. So does whatever holds as much
// of it at one batch as at another: the trial is added to the history.
GpuAccount gpu_account(const std::vector<Use>& uses, std::string_view preallocator,
                       std::int64_t batch, History& history);

// Adds what another run of the same trial used.
void add_run(const std::vector<trial::GpuUse>& more, std::vector<trial::GpuUse>& gpus);

}  // namespace sweetspot::workload::command::gpu
