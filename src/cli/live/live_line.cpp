#include "cli/live/live_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/live/terminal.h"
#include "core/text.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

constexpr core::Seconds plain_interval{10};
constexpr std::size_t widest_bar = 30, narrowest_bar = 5;

core::Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string bar(double share, std::size_t width) {
  const auto done = static_cast<std::size_t>(share * static_cast<double>(width));
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += i < done ? "━" : "─";
  return text;
}

}  // namespace

std::string progress_line(const workload::native::Progress& p, std::size_t width) {
  const std::string epoch = fmt::format("epoch {}/{} ", p.epoch, p.epochs);
  // Most important first; what does not fit is omitted.
  const std::string facts[] = {
      fmt::format("loss {:.4g}", p.loss),
      fmt::format("{} samples/s", core::format_count(p.samples_per_second)),
      fmt::format("ETA {}", core::format_duration(p.left)),
      fmt::format("{}/{}", core::format_count(static_cast<double>(p.samples)),
                  core::format_count(static_cast<double>(p.samples_in_epoch))),
      p.noise_scale ? fmt::format("noise scale {}", core::format_rounded(*p.noise_scale)) : ""};
  std::string tail;
  for (const std::string& fact : facts) {
    if (fact.empty()) continue;
    const std::string longer = tail.empty() ? fact : tail + " · " + fact;
    if (report::display_width(epoch) + narrowest_bar + 1 + report::display_width(longer) > width)
      break;
    tail = longer;
  }
  if (tail.empty()) return epoch.substr(0, width);
  const std::size_t room = width - report::display_width(epoch) - 1 - report::display_width(tail);
  const double share = static_cast<double>(p.samples) / static_cast<double>(p.samples_in_epoch);
  return epoch + bar(share, std::min(room, widest_bar)) + " " + tail;
}

LiveLine::LiveLine()
    : terminal_(is_live_terminal()), colour_(has_colour()), next_plain_(now() + plain_interval) {}

void LiveLine::show(const workload::native::Progress& p) {
  if (terminal_) {
    // One column short, so that no terminal wraps it.
    const std::string line = progress_line(p, terminal_width() - 1);
    fmt::print(stderr, "\r\033[K{}{}{}", colour_ ? "\033[36m" : "", line, colour_ ? "\033[0m" : "");
    shown_ = true;
  } else if (now() >= next_plain_) {
    next_plain_ = now() + plain_interval;
    Output::talk(fmt::format("epoch {}/{}: {} of {} samples, loss {:.4g}, {} samples/s, {} left",
                             p.epoch, p.epochs, core::format_count(static_cast<double>(p.samples)),
                             core::format_count(static_cast<double>(p.samples_in_epoch)), p.loss,
                             core::format_count(p.samples_per_second),
                             core::format_duration(p.left)));
  }
}

void LiveLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace sweetspot::cli
