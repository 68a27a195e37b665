// What can be computed about a GPU without one.
#include "engine/cuda/cuda.h"

namespace sweetspot::engine::cuda {
namespace {

// FLOPs per multiprocessor and cycle, dense, with fp32 sums; a multiply-add is two. From NVIDIA's
// white papers of A100, GA102 and AD102, H100, B200 and RTX 50.
struct PerCycle {
  double fp32, tf32, half;
};
PerCycle per_cycle(int major, int minor) {
  if (major < 8) return {128, 128, 128};
  if (major == 8) return minor == 0 ? PerCycle{128, 1024, 2048} : PerCycle{256, 256, 512};
  if (major == 9) return {256, 2048, 4096};
  if (major == 10) return {256, 4096, 8192};
  return {256, 256, 512};
}

}  // namespace

std::optional<double> peak_flops_per_second(const Device& device, Precision precision) {
  if (device.clock_hz <= 0 || device.multiprocessors <= 0) return std::nullopt;
  const PerCycle each = per_cycle(device.major, device.minor);
  const double flops = precision == Precision::fp32   ? each.fp32
                       : precision == Precision::tf32 ? each.tf32
                                                      : each.half;
  return flops * device.multiprocessors * device.clock_hz;
}

core::Bytes resident_bytes(const ResidentSamples& samples, Split split) {
  const auto answers = samples.labels.size_bytes() + samples.targets.size_bytes();
  const auto order =
      split == Split::train ? static_cast<core::Bytes>(samples.count) * sizeof(std::uint32_t) : 0;
  return samples.bytes.size_bytes() + samples.floats.size_bytes() + answers + order;
}

}  // namespace sweetspot::engine::cuda
