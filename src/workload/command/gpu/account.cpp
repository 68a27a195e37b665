#include "workload/command/gpu/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "trial/gpus.h"

namespace sweetspot::workload::command::gpu {
namespace {

trial::GpuUse told(const Use& use) {
  trial::GpuUse gpu;
  gpu.device = use.device.name;
  gpu.name = core::printable(use.device.gpu->identity().name);
  gpu.memory_peak = use.peak;
  gpu.memory_free = use.free;
  gpu.memory_source = use.source;
  return gpu;
}

// As much at a batch that is far from this one, and most of the GPU: no batch decides that.
bool is_the_same_at_others(core::Bytes peak, std::int64_t batch, const History& history) {
  constexpr double about = 0.005;
  constexpr std::int64_t far = 2;
  return std::ranges::any_of(history, [&](const auto& other) {
    const double apart = std::abs(static_cast<double>(other.second) - static_cast<double>(peak));
    return (other.first >= far * batch || batch >= far * other.first) &&
           apart <= about * static_cast<double>(peak);
  });
}

std::string preallocated_words(std::string_view by) {
  if (by == "JAX")
    return "JAX takes most of the GPU's memory at start, whatever the batch needs of it: "
           "--env XLA_PYTHON_CLIENT_PREALLOCATE=false lets it be measured";
  if (by == "TensorFlow")
    return "TensorFlow takes the GPU's memory at start, whatever the batch needs of it: "
           "--env TF_FORCE_GPU_ALLOW_GROWTH=true lets it be measured";
  return "the program holds as much of the GPU at every batch, so that what a batch needs is not "
         "known: --env XLA_PYTHON_CLIENT_PREALLOCATE=false (JAX) or "
         "--env TF_FORCE_GPU_ALLOW_GROWTH=true (TensorFlow) may let it be measured";
}

}  // namespace

GpuAccount gpu_account(const std::vector<Use>& uses, std::string_view preallocator,
                       std::int64_t batch, History& history) {
  constexpr double most_of_it = 0.7;
  GpuAccount account;
  std::string lost;
  core::Bytes total = 0;
  for (const Use& use : uses) {
    account.gpus.push_back(told(use));
    if (use.lost) lost += (lost.empty() ? "" : ", ") + use.device.name;
  }
  if (!lost.empty()) account.note = fmt::format("{} stopped answering", lost);
  const trial::GpuUse* full = trial::fullest(account.gpus);
  if (!full) return account;
  for (const Use& use : uses)
    if (use.device.name == full->device) total = use.total;
  account.capacity = full->memory_free;
  account.source = full->memory_source;
  const core::Bytes peak = *full->memory_peak;
  const bool most =
      static_cast<double>(peak) >= most_of_it * static_cast<double>(total) && total > 0;
  if (most && (!preallocator.empty() || is_the_same_at_others(peak, batch, history)))
    account.note = preallocated_words(preallocator);
  else
    account.peak = peak;
  history[batch] = std::max(history[batch], peak);
  return account;
}

void add_run(const std::vector<trial::GpuUse>& more, std::vector<trial::GpuUse>& gpus) {
  for (const trial::GpuUse& one : more) {
    const auto same = std::ranges::find(gpus, one.device, &trial::GpuUse::device);
    if (same == gpus.end())
      gpus.push_back(one);
    else if (one.memory_peak)
      same->memory_peak = std::max(same->memory_peak.value_or(0), *one.memory_peak);
  }
}

}  // namespace sweetspot::workload::command::gpu
