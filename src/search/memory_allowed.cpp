#include <algorithm>

#include "search/search.h"

namespace sweetspot::search {
namespace {

bool is_on_a_gpu(const trial::Trial& trial) {
  return trial.memory_capacity.has_value() || !trial.gpus.empty();
}

}  // namespace

std::optional<core::Bytes> memory_allowed(std::span<const trial::Trial> trials,
                                          const Limits& limits) {
  if (std::ranges::none_of(trials, is_on_a_gpu)) return limits.memory_limit;
  std::optional<core::Bytes> allowed = limits.gpu_memory_limit;
  // Others may take of the GPU, and give it back: what was there at the worst moment.
  for (const trial::Trial& trial : trials) {
    if (!trial.memory_capacity) continue;
    const auto share = static_cast<core::Bytes>(limits.gpu_memory_share *
                                                static_cast<double>(*trial.memory_capacity));
    allowed = std::min(allowed.value_or(share), share);
  }
  return allowed;
}

}  // namespace sweetspot::search
