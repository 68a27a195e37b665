#include "cli/live/monitor_words.h"

#include <fmt/format.h>

#include "core/text.h"
#include "report/text/table.h"

namespace sweetspot::cli {
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
    text += fmt::format(", held back: {}", words(*reading.throttle));
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

}  // namespace sweetspot::cli
