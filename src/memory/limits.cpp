#include "memory/limits.h"

#include <algorithm>

namespace sweetspot::memory {
namespace {

bool is_on_a_gpu(const trial::Trial& trial) {
  return trial.memory_capacity.has_value() || !trial.gpus.empty();
}

// If a trial ran out of memory on a GPU and its message does not explain it: what was observed to
// be available. A host's figure includes too much else.
std::optional<core::Bytes> seen_to_fit(std::span<const trial::Trial> trials) {
  std::optional<core::Bytes> held;  // by those that ran out
  core::Bytes fitted = 0;           // by those that did not
  for (const trial::Trial& trial : trials) {
    if (!trial.memory_measured || trial.gpus.empty()) continue;
    if (trial.outcome == trial::Outcome::ok) fitted = std::max(fitted, *trial.memory_measured);
    const bool is_explained = trial.memory_capacity && trial.memory_wanted &&
                              *trial.memory_wanted >= *trial.memory_capacity;
    if (trial.outcome == trial::Outcome::out_of_memory && !is_explained)
      held = std::min(held.value_or(*trial.memory_measured), *trial.memory_measured);
  }
  return held ? std::optional(std::max(*held, fitted)) : std::nullopt;
}

}  // namespace

std::optional<core::Bytes> allowed(std::span<const trial::Trial> trials, const Limits& limits) {
  const bool on_a_gpu = std::ranges::any_of(trials, is_on_a_gpu);
  std::optional<core::Bytes> most = on_a_gpu ? limits.gpu_limit : limits.limit;
  if (const auto seen = seen_to_fit(trials)) most = std::min(most.value_or(*seen), *seen);
  // Other processes may take GPU memory and release it: use the worst moment.
  for (const trial::Trial& trial : trials) {
    if (!trial.memory_capacity) continue;
    const auto share =
        static_cast<core::Bytes>(limits.gpu_share * static_cast<double>(*trial.memory_capacity));
    most = std::min(most.value_or(share), share);
  }
  return most;
}

}  // namespace sweetspot::memory
