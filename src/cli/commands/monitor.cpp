#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands/commands.h"
#include "cli/live/monitor_view.h"
#include "cli/live/terminal.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "core/error.h"
#include "core/json_values.h"
#include "core/text.h"

namespace sweetspot::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Rates need some time: the first snapshot is taken after this.
constexpr core::Seconds first_wait{0.25};
constexpr core::Seconds shortest_interval{0.1}, longest_nap{0.05};

struct MonitorFlags {
  bool once = false, json = false;
  std::string interval = "1s";
};

// A block that is redrawn in place. It changes no terminal state: whenever the program ends, the
// last block stays, and the prompt follows it.
class Screen {
 public:
  explicit Screen(Output& output) : output_(output) {}

  void draw(const Snapshot& snapshot) {
    // One column short, so that no terminal wraps it, and a line for the cursor.
    const View view{terminal_width() - 1, stdout_has_colour(), is_utf8_locale()};
    auto lines = monitor_block(snapshot, view);
    lines.resize(std::min(lines.size(), std::max<std::size_t>(terminal_height(), 3) - 1));
    std::string text = drawn_ ? fmt::format("\033[{}A\r", drawn_) : "";
    for (const std::string& line : lines) text += line + "\033[K\n";
    output_.print(text + "\033[J");
    drawn_ = lines.size();
  }

 private:
  Output& output_;
  std::size_t drawn_ = 0;
};

// False if a signal arrived meanwhile.
bool wait_until(Clock::time_point end) {
  while (StopOnSignal::stopped() == 0) {
    const auto left = end - Clock::now();
    if (left <= Clock::duration::zero()) return true;
    std::this_thread::sleep_for(
        std::min<Clock::duration>(left, std::chrono::duration_cast<Clock::duration>(longest_nap)));
  }
  return false;
}

void show(const Snapshot& snapshot, const MonitorFlags& flags, Screen& screen, Output& output) {
  if (flags.json && flags.once)
    output.print_json(monitor_json(snapshot));
  else if (flags.json)
    output.print(core::json_text(monitor_json(snapshot)) + "\n");
  else if (stdout_is_live_terminal())
    screen.draw(snapshot);
  else
    output.print(monitor_lines(snapshot));
}

int watch(const MonitorFlags& flags, Output& output) {
  const core::Seconds interval = core::parse_duration(flags.interval, "--interval");
  if (interval < shortest_interval)
    throw core::InputError(fmt::format("--interval '{}' is too short: 100ms is the shortest",
                                       core::printable(flags.interval)));
  const auto step = std::chrono::duration_cast<Clock::duration>(interval);
  const StopOnSignal signals;
  Snapshots snapshots;
  Screen screen(output);
  auto next = Clock::now() + std::chrono::duration_cast<Clock::duration>(first_wait);
  while (wait_until(next)) {
    show(snapshots.take(), flags, screen, output);
    if (flags.once || output.has_failed()) return 0;
    next += step;
    if (next < Clock::now()) next = Clock::now() + step;  // was stopped meanwhile: do not catch up
  }
  return 128 + StopOnSignal::stopped();
}

}  // namespace

void add_monitor(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "monitor", "live readings: utilisation, memory, power and clocks of GPUs and host");
  const auto flags = std::make_shared<MonitorFlags>();
  command->add_flag("--once", flags->once, "take one reading and exit");
  command->add_option("--interval", flags->interval, "between two readings, such as 500ms")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON object per reading on stdout, one per line");
  command->footer(
      "\nExamples:\n"
      "  sweetspot monitor --interval 500ms\n"
      "  sweetspot monitor --once --json");
  command->callback(
      [&chosen, flags] { chosen = [flags](Output& output) { return watch(*flags, output); }; });
}

}  // namespace sweetspot::cli
