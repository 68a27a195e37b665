#include "cli/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "cli/help/about.h"
#include "cli/output.h"
#include "core/json_values.h"
#include "engine/cpu/cpu.h"
#include "engine/cuda/cuda.h"
#include "probe/cpu/roofline.h"
#include "probe/proc/host.h"

namespace sweetspot::cli {
namespace {

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

}  // namespace

nlohmann::ordered_json gpu_json(const engine::cuda::Device& gpu) {
  return {{"index", gpu.index},
          {"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory},
          {"driver_cuda", cuda_version(gpu.driver)},
          {"runtime_cuda", cuda_version(gpu.runtime)}};
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

nlohmann::ordered_json environment(int threads, const workload::native::Device& device) {
  const engine::cpu::Backend backend = engine::cpu::backend();
  const probe::proc::Memory memory = probe::proc::memory();
  nlohmann::ordered_json gpu;  // the one that was used
  if (device.gpu)
    for (const engine::cuda::Device& found : engine::cuda::available().devices)
      if (found.index == *device.gpu) gpu = gpu_json(found);
  return {{"version", SWEETSPOT_VERSION},
          {"commit", commit()},
          {"build_type", SWEETSPOT_BUILD_TYPE},
          {"compiler", __VERSION__},
          {"system", system_name()},
          {"cpu", probe::proc::cpu().model},
          {"usable_cores", probe::proc::usable_cores()},
          {"threads", threads},
          {"memory_total_bytes", memory.total},
          {"memory_free_bytes", memory.free},
          {"library", backend.library},
          {"isa", backend.isa},
          {"gpus", probe::proc::nvidia_gpus()},
          {"device", name(device)},
          {"gpu", gpu}};
}

advise::Roofline device_roofline(const workload::native::Options& options) {
  if (!options.device.gpu) {
    const probe::cpu::Roofline roofline = probe::cpu::roofline(options.threads);
    // An AVX512-BF16 instruction multiplies and adds two numbers per fp32 lane.
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
