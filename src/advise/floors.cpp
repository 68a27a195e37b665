#include <algorithm>
#include <map>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

// A kernel within this factor of its floor may be held up by what no floor counts: latency, cache
// misses, the odd size.
constexpr double far_above = 10;
constexpr double much_of_a_step = 0.25;
// Below this a kernel's time is its launch and its barriers.
constexpr double least_judged_seconds = 20e-6;

// Operations that one kernel computes: whether a network has one of them or twenty makes no
// difference to how good it is.
struct Kernel {
  const trial::OperationCost* first = nullptr;
  std::int64_t operations = 0;
  double seconds = 0, floor = 0, longest = 0;
};

}  // namespace

std::optional<double> floor_seconds(const trial::OperationCost& operation,
                                    const Roofline& roofline) {
  double floor = 0;
  if (roofline.flops_per_second) floor = operation.flops / *roofline.flops_per_second;
  if (roofline.bytes_per_second)
    floor = std::max(floor, operation.bytes / *roofline.bytes_per_second);
  return floor > 0 ? std::optional(floor) : std::nullopt;
}

std::optional<SlowKernel> slow_kernel(std::span<const trial::OperationCost> operations,
                                      const Roofline& roofline) {
  std::map<std::string, Kernel> kernels;
  double step = 0;
  for (const trial::OperationCost& operation : operations) {
    step += operation.seconds;
    const auto floor = floor_seconds(operation, roofline);
    if (!floor) continue;
    Kernel& kernel = kernels[operation.implementation];
    if (operation.seconds >= kernel.longest) kernel.first = &operation;
    kernel.longest = std::max(kernel.longest, operation.seconds);
    kernel.seconds += operation.seconds, kernel.floor += *floor, ++kernel.operations;
  }
  std::optional<SlowKernel> worst;
  for (const auto& [implementation, kernel] : kernels) {
    const SlowKernel found{kernel.first->name, kernel.operations - 1, kernel.seconds / step,
                           kernel.seconds / kernel.floor};
    if (found.times_floor <= far_above || found.share <= much_of_a_step ||
        kernel.longest < least_judged_seconds)
      continue;
    if (!worst || found.share > worst->share) worst = found;
  }
  return worst;
}

}  // namespace sweetspot::advise
