#include "cli/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "cli/help/about.h"
#include "cli/json.h"
#include "engine/cpu/cpu.h"
#include "engine/cuda/cuda.h"
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
          {"cpu", or_null(probe::proc::cpu().model)},
          {"usable_cores", probe::proc::usable_cores()},
          {"threads", threads},
          {"memory_total_bytes", or_null(memory.total)},
          {"memory_free_bytes", or_null(memory.free)},
          {"library", backend.library},
          {"isa", backend.isa},
          {"gpus", probe::proc::nvidia_gpus()},
          {"device", name(device)},
          {"gpu", gpu}};
}

}  // namespace sweetspot::cli
