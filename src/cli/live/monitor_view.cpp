#include "cli/live/monitor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/json_values.h"
#include "core/text.h"
#include "probe/text_file.h"
#include "report/table.h"

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
  const std::string text = probe::read_text("/proc/" + std::to_string(pid) + "/comm").value_or("");
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

namespace {

std::string fine_percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", 100 * *share) : std::string(report::unknown);
}

std::string bytes_words(const std::optional<core::Bytes>& bytes) {
  return bytes ? core::format_bytes(*bytes) : std::string(report::unknown);
}

}  // namespace

std::string percent_words(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : std::string(report::unknown);
}

std::string memory_words(const std::optional<core::Bytes>& used,
                         const std::optional<core::Bytes>& total) {
  return fmt::format("{} of {}", bytes_words(used), bytes_words(total));
}

std::string power_words(const probe::gpu::Reading& reading) {
  std::string text = reading.power_watts ? fmt::format("{:.0f} W", *reading.power_watts)
                                         : fmt::format("{} W", report::unknown);
  if (reading.power_limit_watts) text += fmt::format(" of {:.0f} W", *reading.power_limit_watts);
  if (reading.temperature_celsius) text += fmt::format(", {:.0f} °C", *reading.temperature_celsius);
  return text;
}

std::string clock_words(const probe::gpu::Reading& reading) {
  const auto mhz = [](const std::optional<std::int64_t>& clock) {
    return clock ? fmt::format("{} MHz", core::format_count(static_cast<double>(*clock)))
                 : fmt::format("{} MHz", report::unknown);
  };
  std::string text =
      fmt::format("{}, memory {}", mhz(reading.core_clock_mhz), mhz(reading.memory_clock_mhz));
  if (reading.throttle && !words(*reading.throttle).empty())
    text += fmt::format(", throttled: {}", words(*reading.throttle));
  return text;
}

std::string waiting_words(const HostSnapshot& host) {
  return fmt::format("CPU {}, memory {}, I/O {}", fine_percent(host.cpu_pressure.some_share),
                     fine_percent(host.memory_pressure.some_share),
                     fine_percent(host.io_pressure.some_share));
}

std::string process_words(const GpuProcess& process) {
  std::string text = fmt::format("{}", process.use.pid);
  if (!process.name.empty()) text += " " + core::printable(process.name);
  text += ": " + bytes_words(process.use.memory);
  if (process.use.utilisation_share) text += ", " + percent_words(process.use.utilisation_share);
  return text;
}

std::optional<core::Bytes> memory_used(const probe::proc::Memory& memory) {
  if (!memory.total || !memory.available || *memory.available > *memory.total) return std::nullopt;
  return *memory.total - *memory.available;
}

namespace {

constexpr std::size_t label_width = 10, bar_width = 20, most_processes_shown = 8;

class Block {
 public:
  explicit Block(const View& view) : view_(view) {}

  void head(const std::string& title) {
    const std::string text = cut(title, view_.width);
    lines.push_back(view_.colour ? "\033[1m" + text + "\033[0m" : text);
  }
  void plain(const std::string& label, const std::string& text) {
    lines.push_back(cut(fmt::format("  {:<{}}{}", label, label_width, text), view_.width));
  }
  void bar(const std::string& label, const std::optional<double>& share, const std::string& text) {
    if (view_.width < label_width + bar_width + 14) return plain(label, text);  // no room for it
    const std::string drawn = share_bar(share.value_or(0), static_cast<int>(bar_width), view_.utf8);
    const std::string padding(bar_width - report::display_width(drawn), ' ');
    lines.push_back(fmt::format("  {:<{}}{}{}{}{}  {}", label, label_width,
                                view_.colour ? "\033[36m" : "", drawn,
                                view_.colour ? "\033[0m" : "", padding,
                                cut(text, view_.width - 4 - label_width - bar_width)));
  }
  std::vector<std::string> lines;

 private:
  View view_;
};

std::optional<double> ratio(const std::optional<core::Bytes>& part,
                            const std::optional<core::Bytes>& all) {
  if (!part || !all || *all == 0) return std::nullopt;
  return static_cast<double>(*part) / static_cast<double>(*all);
}

void add_host(const HostSnapshot& host, Block& block) {
  block.head(fmt::format("host: {}, {} cores", core::printable(host.cpu), host.cores));
  std::string cpu = percent_words(host.cpu_share);
  if (host.cpu_power_watts) cpu += fmt::format(", {:.0f} W", *host.cpu_power_watts);
  block.bar("CPU", host.cpu_share, cpu);
  const auto used = memory_used(host.memory);
  block.bar("memory", ratio(used, host.memory.total), memory_words(used, host.memory.total));
  block.plain("waiting", waiting_words(host) + " of the last 10 s");
}

void add_gpu(std::size_t number, const GpuSnapshot& gpu, Block& block) {
  const probe::gpu::Reading& now = gpu.reading;
  block.head(fmt::format("GPU {}: {}, driver {}, {}{}", number, core::printable(gpu.identity.name),
                         core::printable(gpu.identity.driver), core::printable(gpu.identity.bus_id),
                         gpu.identity.mig.value_or(false) ? ", divided by MIG" : ""));
  block.bar("busy", now.utilisation_share,
            fmt::format("{}, memory traffic {}", percent_words(now.utilisation_share),
                        percent_words(now.memory_busy_share)));
  block.bar("memory", ratio(now.memory_used, now.memory_total),
            memory_words(now.memory_used, now.memory_total));
  std::optional<double> power;
  if (now.power_watts && now.power_limit_watts && *now.power_limit_watts > 0)
    power = *now.power_watts / *now.power_limit_watts;
  block.bar("power", power, power_words(now));
  block.plain("clocks", clock_words(now));
  if (!gpu.processes) return block.plain("processes", "not told by the driver");
  if (gpu.processes->empty()) block.plain("processes", "none seen from here");
  for (std::size_t i = 0; i < gpu.processes->size() && i < most_processes_shown; ++i)
    block.plain(i == 0 ? "processes" : "", process_words((*gpu.processes)[i]));
  if (gpu.processes->size() > most_processes_shown)
    block.plain("", fmt::format("and {} more", gpu.processes->size() - most_processes_shown));
}

}  // namespace

std::vector<std::string> monitor_block(const Snapshot& snapshot, const View& view) {
  Block block(view);
  add_host(snapshot.host, block);
  for (std::size_t i = 0; i < snapshot.gpus.size(); ++i) add_gpu(i, snapshot.gpus[i], block);
  if (snapshot.gpus.empty()) block.head(fmt::format("GPU: none, {}", snapshot.no_gpu_reason));
  return block.lines;
}

std::string monitor_lines(const Snapshot& snapshot) {
  const HostSnapshot& host = snapshot.host;
  std::string text =
      fmt::format("host: CPU {}, memory {}, waiting for {}\n", percent_words(host.cpu_share),
                  memory_words(memory_used(host.memory), host.memory.total), waiting_words(host));
  for (std::size_t i = 0; i < snapshot.gpus.size(); ++i) {
    const GpuSnapshot& gpu = snapshot.gpus[i];
    text +=
        fmt::format("GPU {} {}: busy {}, memory {}, {}, {}", i, core::printable(gpu.identity.name),
                    percent_words(gpu.reading.utilisation_share),
                    memory_words(gpu.reading.memory_used, gpu.reading.memory_total),
                    power_words(gpu.reading), clock_words(gpu.reading));
    if (gpu.processes)
      for (const GpuProcess& process : *gpu.processes) text += "; " + process_words(process);
    text += "\n";
  }
  if (snapshot.gpus.empty()) text += fmt::format("GPU: none, {}\n", snapshot.no_gpu_reason);
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json pressure_json(const probe::proc::Pressure& pressure) {
  return {{"some_share", pressure.some_share}, {"full_share", pressure.full_share}};
}

Json host_json(const HostSnapshot& host) {
  return {{"cpu", core::unless_empty(host.cpu)},
          {"usable_cores", host.cores},
          {"cpu_share", host.cpu_share},
          {"cpu_power_watts", host.cpu_power_watts},
          {"memory_total_bytes", host.memory.total},
          {"memory_available_bytes", host.memory.available},
          {"memory_limit_bytes", host.memory.cgroup_limit},
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
                    {"name", core::unless_empty(process.name)},
                    {"memory_bytes", process.use.memory},
                    {"utilisation_share", process.use.utilisation_share}});
  return list;
}

Json gpu_json(std::size_t index, const GpuSnapshot& gpu) {
  const probe::gpu::Reading& now = gpu.reading;
  return {{"index", index},
          {"vendor", gpu.identity.vendor},
          {"name", core::unless_empty(gpu.identity.name)},
          {"uuid", core::unless_empty(gpu.identity.uuid)},
          {"bus_id", core::unless_empty(gpu.identity.bus_id)},
          {"driver", core::unless_empty(gpu.identity.driver)},
          {"mig", gpu.identity.mig},
          {"utilisation_share", now.utilisation_share},
          {"memory_busy_share", now.memory_busy_share},
          {"memory_used_bytes", now.memory_used},
          {"memory_total_bytes", now.memory_total},
          {"power_watts", now.power_watts},
          {"power_limit_watts", now.power_limit_watts},
          {"temperature_celsius", now.temperature_celsius},
          {"core_clock_mhz", now.core_clock_mhz},
          {"memory_clock_mhz", now.memory_clock_mhz},
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
  json["no_gpu_reason"] = core::unless_empty(snapshot.no_gpu_reason);
  return json;
}

}  // namespace sweetspot::cli
