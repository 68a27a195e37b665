#include "probe/nvml/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace sweetspot::probe::nvml {
namespace {

// Older drivers have some functions under older names, with the same layout.
template <class Function, class... Names>
void look_up(void* library, Function& function, Names... names) {
  for (const char* name : {names...})
    if (!function) function = reinterpret_cast<Function>(dlsym(library, name));
}

std::string why(const Functions& call, Status status) {
  switch (status) {
    case Status::driver_not_loaded:
      return "the NVIDIA driver is not loaded; look at nvidia-smi";
    case Status::version_mismatch:
      return "the NVIDIA driver was updated and not loaded since; restart the machine";
    default:
      return fmt::format("the NVIDIA driver does not answer ({}); look at nvidia-smi",
                         call.error_string ? call.error_string(status)
                                           : fmt::format("error {}", static_cast<int>(status)));
  }
}

}  // namespace

Library::Library(void* opened) : opened_(opened) {
  Functions& f = functions_;
  look_up(opened, f.init, "nvmlInit_v2");
  look_up(opened, f.shutdown, "nvmlShutdown");
  look_up(opened, f.error_string, "nvmlErrorString");
  look_up(opened, f.driver_version, "nvmlSystemGetDriverVersion");
  look_up(opened, f.count, "nvmlDeviceGetCount_v2");
  look_up(opened, f.handle, "nvmlDeviceGetHandleByIndex_v2");
  look_up(opened, f.name, "nvmlDeviceGetName");
  look_up(opened, f.uuid, "nvmlDeviceGetUUID");
  look_up(opened, f.pci_info, "nvmlDeviceGetPciInfo_v3");
  look_up(opened, f.mig_mode, "nvmlDeviceGetMigMode");
  look_up(opened, f.most_instances, "nvmlDeviceGetMaxMigDeviceCount");
  look_up(opened, f.instance, "nvmlDeviceGetMigDeviceHandleByIndex");
  look_up(opened, f.utilization, "nvmlDeviceGetUtilizationRates");
  look_up(opened, f.memory, "nvmlDeviceGetMemoryInfo");
  look_up(opened, f.memory2, "nvmlDeviceGetMemoryInfo_v2");
  look_up(opened, f.power, "nvmlDeviceGetPowerUsage");
  look_up(opened, f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  look_up(opened, f.asked_power_limit, "nvmlDeviceGetPowerManagementLimit");
  look_up(opened, f.power_limit_range, "nvmlDeviceGetPowerManagementLimitConstraints");
  look_up(opened, f.set_power_limit, "nvmlDeviceSetPowerManagementLimit");
  look_up(opened, f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  look_up(opened, f.fields, "nvmlDeviceGetFieldValues");
  look_up(opened, f.temperature, "nvmlDeviceGetTemperature");
  look_up(opened, f.clock, "nvmlDeviceGetClockInfo");
  look_up(opened, f.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons",
          "nvmlDeviceGetCurrentClocksThrottleReasons");
  look_up(opened, f.compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3",
          "nvmlDeviceGetComputeRunningProcesses_v2");
  look_up(opened, f.graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3",
          "nvmlDeviceGetGraphicsRunningProcesses_v2");
  look_up(opened, f.process_utilization, "nvmlDeviceGetProcessUtilization");
}

Library::~Library() {
  if (started_ && functions_.shutdown) functions_.shutdown();
  dlclose(opened_);
}

std::shared_ptr<const Library> Library::open(const std::string& file, std::string& reason) {
  void* opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    reason = fmt::format("no NVIDIA driver is installed ({} is not there)", file);
    return nullptr;
  }
  const std::shared_ptr<Library> library(new Library(opened));
  const Functions& call = library->call();
  if (!call.init || !call.count || !call.handle) {
    reason = "the NVIDIA driver is too old to be asked; update it";
    return nullptr;
  }
  const Status status = call.init();
  library->started_ = status == Status::ok;
  if (library->started_) return library;
  reason = why(call, status);
  return nullptr;
}

std::string Library::driver() const {
  char text[96] = "";
  if (!functions_.driver_version || functions_.driver_version(text, sizeof text) != Status::ok)
    return "";
  return text;
}

}  // namespace sweetspot::probe::nvml
