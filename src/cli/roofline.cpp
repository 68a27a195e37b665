#include "cli/roofline.h"

#include "probe/cpu/roofline.h"

namespace sweetspot::cli {

advise::Roofline device_roofline(const workload::native::Options& options) {
  if (!options.device.gpu) {
    const probe::cpu::Roofline roofline = probe::cpu::roofline(options.threads);
    // An instruction of AVX512-BF16 multiplies and adds two numbers in each lane of fp32's one.
    const double wider = options.precision == engine::Precision::bf16 ? 2 : 1;
    return {wider * roofline.flops_per_second, roofline.bytes_per_second};
  }
  advise::Roofline rated;
  for (const engine::cuda::Device& device : engine::cuda::available().devices) {
    if (device.index != *options.device.gpu) continue;
    rated.flops_per_second = peak_flops_per_second(device, options.precision);
    if (device.memory_bytes_per_second > 0) rated.bytes_per_second = device.memory_bytes_per_second;
  }
  return rated;
}

}  // namespace sweetspot::cli
