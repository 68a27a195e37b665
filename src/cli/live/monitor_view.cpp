#include "cli/live/monitor_view.h"

#include <fmt/format.h>

#include "cli/live/bar.h"
#include "cli/live/monitor_words.h"
#include "cli/live/terminal.h"
#include "core/text.h"
#include "report/text/table.h"

namespace sweetspot::cli {
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

}  // namespace sweetspot::cli
