#include <algorithm>
#include <map>
#include <vector>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

// A kernel within this factor of its lower bound may be limited by what the bound does not count:
// latency, cache misses, odd sizes.
constexpr double far_above = 10;
constexpr double much_of_a_step = 0.25;
// Below this a kernel's time is its launch and its barriers.
constexpr double least_judged_seconds = 20e-6;

// One operation, or all that one kernel computes: how many of them a network has does not affect
// how good it is.
struct Judged {
  const trial::OperationCost* longest = nullptr;
  std::int64_t operations = 0;
  double seconds = 0, floor = 0;

  void add(const trial::OperationCost& operation, double its_floor) {
    if (!longest || operation.seconds > longest->seconds) longest = &operation;
    seconds += operation.seconds, floor += its_floor, ++operations;
  }
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
  std::vector<Judged> all;
  std::map<std::string, Judged> kernels;
  double step = 0;  // without threads' waiting for each other, which has no lower bound
  for (const trial::OperationCost& operation : operations) {
    const auto floor = floor_seconds(operation, roofline);
    if (!floor) continue;
    step += operation.seconds;
    all.emplace_back().add(operation, *floor);
    kernels[operation.implementation].add(operation, *floor);
  }
  for (const auto& [implementation, kernel] : kernels) all.push_back(kernel);
  std::optional<SlowKernel> worst;
  for (const Judged& each : all) {
    const SlowKernel found{each.longest->name, each.operations - 1, each.seconds / step,
                           each.seconds / each.floor};
    if (found.times_floor <= far_above || found.share <= much_of_a_step ||
        each.longest->seconds < least_judged_seconds)
      continue;
    if (!worst || found.share > worst->share) worst = found;
  }
  return worst;
}

std::optional<SlowKernel> of_whole_step(const std::optional<SlowKernel>& kernel,
                                        double data_wait_share) {
  if (!kernel) return std::nullopt;
  SlowKernel found = *kernel;
  found.share *= 1 - data_wait_share;
  return found.share > much_of_a_step ? std::optional(found) : std::nullopt;
}

}  // namespace sweetspot::advise
