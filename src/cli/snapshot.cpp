#include "cli/snapshot.h"

#include <algorithm>
#include <chrono>

#include "probe/proc/text_file.h"

namespace sweetspot::cli {
namespace {

namespace proc = probe::proc;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string name_of(std::int64_t pid) {
  const std::string text = proc::read_text("/proc/" + std::to_string(pid) + "/comm").value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<std::vector<GpuProcess>> processes_of(const probe::gpu::Gpu& gpu) {
  const auto found = gpu.processes();
  if (!found) return std::nullopt;
  std::vector<GpuProcess> named;
  for (const probe::gpu::Process& process : *found)
    named.push_back({process, name_of(process.pid)});
  std::ranges::stable_sort(named, std::greater{}, [](const GpuProcess& process) {
    return process.use.memory.value_or(0);
  });
  return named;
}

}  // namespace

Snapshots::Snapshots()
    : found_(probe::gpu::find()),
      cpu_time_(proc::cpu_time()),
      joules_(energy_.joules()),
      at_(steady_seconds()) {}

Snapshot Snapshots::take() {
  Snapshot now;
  now.at_unix_seconds = unix_seconds();
  HostSnapshot& host = now.host;
  host.cpu = proc::cpu().model.value_or("");
  host.cores = proc::usable_cores();
  host.memory = proc::memory();
  host.cpu_pressure = proc::pressure("cpu");
  host.memory_pressure = proc::pressure("memory");
  host.io_pressure = proc::pressure("io");
  const proc::CpuTime time = proc::cpu_time();
  const std::optional<double> joules = energy_.joules();
  const double at = steady_seconds();
  host.cpu_share = proc::busy_share(cpu_time_, time);
  if (joules && joules_ && at > at_) host.cpu_power_watts = (*joules - *joules_) / (at - at_);
  cpu_time_ = time, joules_ = joules, at_ = at;
  for (const auto& gpu : found_.gpus)
    now.gpus.push_back({gpu->identity(), gpu->read(), processes_of(*gpu)});
  now.no_gpu_reason = found_.reason;
  return now;
}

}  // namespace sweetspot::cli
