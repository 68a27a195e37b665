#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/live/monitor_view.h"

namespace sweetspot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json pressure_json(const probe::proc::Pressure& pressure) {
  return {{"some_share", or_null(pressure.some_share)},
          {"full_share", or_null(pressure.full_share)}};
}

Json host_json(const HostSnapshot& host) {
  return {{"cpu", text_or_null(host.cpu)},
          {"usable_cores", host.cores},
          {"cpu_share", or_null(host.cpu_share)},
          {"cpu_power_watts", or_null(host.cpu_power_watts)},
          {"memory_total_bytes", or_null(host.memory.total)},
          {"memory_available_bytes", or_null(host.memory.available)},
          {"memory_limit_bytes", or_null(host.memory.cgroup_limit)},
          {"pressure_of_10_seconds",
           {{"cpu", pressure_json(host.cpu_pressure)},
            {"memory", pressure_json(host.memory_pressure)},
            {"io", pressure_json(host.io_pressure)}}}};
}

Json throttle_json(const std::optional<probe::gpu::Throttle>& throttle) {
  if (!throttle) return nullptr;
  return {{"power_cap", throttle->power_cap},
          {"thermal", throttle->thermal},
          {"hardware", throttle->hardware},
          {"power_brake", throttle->power_brake},
          {"set_by_hand", throttle->other}};
}

Json processes_json(const std::optional<std::vector<GpuProcess>>& processes) {
  if (!processes) return nullptr;
  Json list = Json::array();
  for (const GpuProcess& process : *processes)
    list.push_back({{"pid", process.use.pid},
                    {"name", text_or_null(process.name)},
                    {"memory_bytes", or_null(process.use.memory)},
                    {"utilisation_share", or_null(process.use.utilisation_share)}});
  return list;
}

Json gpu_json(std::size_t index, const GpuSnapshot& gpu) {
  const probe::gpu::Reading& now = gpu.reading;
  return {{"index", index},
          {"vendor", gpu.identity.vendor},
          {"name", text_or_null(gpu.identity.name)},
          {"uuid", text_or_null(gpu.identity.uuid)},
          {"bus_id", text_or_null(gpu.identity.bus_id)},
          {"driver", text_or_null(gpu.identity.driver)},
          {"mig", gpu.identity.mig ? Json(*gpu.identity.mig) : Json(nullptr)},
          {"utilisation_share", or_null(now.utilisation_share)},
          {"memory_busy_share", or_null(now.memory_busy_share)},
          {"memory_used_bytes", or_null(now.memory_used)},
          {"memory_total_bytes", or_null(now.memory_total)},
          {"power_watts", or_null(now.power_watts)},
          {"power_limit_watts", or_null(now.power_limit_watts)},
          {"temperature_celsius", or_null(now.temperature_celsius)},
          {"core_clock_mhz", or_null(now.core_clock_mhz)},
          {"memory_clock_mhz", or_null(now.memory_clock_mhz)},
          {"throttle", throttle_json(now.throttle)},
          {"processes", processes_json(gpu.processes)}};
}

}  // namespace

Json monitor_json(const Snapshot& snapshot) {
  Json json = result_object();
  json["at_unix_seconds"] = snapshot.at_unix_seconds;
  json["host"] = host_json(snapshot.host);
  json["gpus"] = Json::array();
  for (std::size_t i = 0; i < snapshot.gpus.size(); ++i)
    json["gpus"].push_back(gpu_json(i, snapshot.gpus[i]));
  json["no_gpu_reason"] = text_or_null(snapshot.no_gpu_reason);
  return json;
}

}  // namespace sweetspot::cli
