#include "cli/live_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.h"
#include "cli/terminal.h"
#include "core/reach.h"
#include "core/text.h"
#include "report/plot.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

constexpr std::size_t widest_live_plot = 72, live_plot_height = 9, least_height_for_plot = 14;
// What a search usually takes; the ETA is a guess until it ends.
constexpr std::size_t usual_trials = 6;

std::string setting_words(const trial::Setting& s) {
  return fmt::format(
      "batch {}{}", core::format_count(static_cast<double>(s.batch)),
      s.accumulation > 1 ? fmt::format(" as {} × {}", s.accumulation, s.micro_batch()) : "");
}

// "5 epochs in 16.4 s, test accuracy 99.14%"
std::string epochs_words(const trial::Trial& t) {
  double seconds = 0;
  for (const trial::Epoch& epoch : t.epochs) seconds += epoch.train_seconds;
  std::string text =
      fmt::format("{} epoch{} in {}", t.epochs.size(), t.epochs.size() == 1 ? "" : "s",
                  core::format_duration(core::Seconds(seconds)));
  if (const auto accuracy = t.epochs.back().test_accuracy)
    text += fmt::format(", test accuracy {:.2f}%", 100 * *accuracy);
  return text + (t.contention.contended ? ", contended" : "");
}

}  // namespace

std::string trial_line(const trial::Trial& t) {
  std::string text = setting_words(t.setting);
  if (!t.epochs.empty()) text += fmt::format(", seed {}", t.setting.seed);
  text += ": ";
  if (t.outcome != trial::Outcome::ok || (!t.samples_per_second && t.epochs.empty()))
    return text + std::string(name(t.outcome)) +
           (t.note.empty() ? "" : fmt::format(" ({})", core::printable(t.note)));
  if (!t.epochs.empty()) return text + epochs_words(t);
  const trial::Interval& speed = *t.samples_per_second;
  text += fmt::format("{} samples/s {}", core::format_count(speed.mean),
                      core::format_reach_percent(speed.mean, speed.low, speed.high));
  if (t.step_seconds_median)
    text += fmt::format(", step {}", core::format_duration(core::Seconds(*t.step_seconds_median)));
  text += fmt::format(", {} steps", t.steps);
  if (t.stop_reason) text += fmt::format(", {}", name(*t.stop_reason));
  if (!t.contention.contended) return text;
  return text + (t.contention.reason.empty()
                     ? ", contended"
                     : fmt::format(", contended: {}", core::printable(t.contention.reason)));
}

std::string sight_line(const measure::Sight& sight, double precision) {
  if (sight.epochs > 0)
    return fmt::format(
        "{}, seed {}: epoch {}/{}, {:.0f}%{}", setting_words(*sight.setting), sight.setting->seed,
        sight.epoch, sight.epochs, 100 * sight.epoch_share,
        sight.samples_per_second
            ? fmt::format(", {} samples/s", core::format_count(sight.samples_per_second->mean))
            : "");
  std::string text = fmt::format("{}, {}: {} steps", setting_words(*sight.setting),
                                 sight.warming_up ? "warming up" : "sampling", sight.steps);
  if (!sight.samples_per_second) return text;
  return text + fmt::format(", {} samples/s ±{:.1f}% on its way to ±{:g}%",
                            core::format_count(sight.samples_per_second->mean),
                            100 * sight.samples_per_second->half_width_share(), 100 * precision);
}

LiveStudy::LiveStudy(LiveFacts facts)
    : facts_(std::move(facts)),
      terminal_(is_live_terminal()),
      colour_(has_colour()),
      utf8_(is_utf8_locale()) {}

void LiveStudy::resumed(std::span<const trial::Trial> trials) {
  trials_.assign(trials.begin(), trials.end());
  if (!trials.empty())
    Output::talk(fmt::format("{} finished trial{} known already; --fresh measures anew",
                             trials.size(), trials.size() == 1 ? " is" : "s are"));
}

void LiveStudy::started(const trial::Setting& setting) {
  if (terminal_) draw(setting_words(setting) + ", opening");
}

void LiveStudy::sight(const measure::Sight& sight) {
  if (terminal_) draw(sight_line(sight, facts_.precision));
}

void LiveStudy::finished(const trial::Trial& trial) {
  trials_.push_back(trial);
  ++measured_here_;
  seconds_here_ += trial.seconds;
  if (!terminal_) Output::talk(trial_line(trial));
}

std::string LiveStudy::eta() const {
  if (measured_here_ == 0) return "";
  const std::size_t known = trials_.size();
  const std::size_t left = facts_.planned ? *facts_.planned - std::min(*facts_.planned, known)
                                          : std::max(usual_trials, known + 1) - known;
  const double each = seconds_here_ / static_cast<double>(measured_here_);
  return fmt::format(" · ETA {}{}", facts_.planned ? "" : "about ",
                     core::format_duration(core::Seconds(each * static_cast<double>(left))));
}

void LiveStudy::draw(const std::string& status) {
  const std::size_t width = terminal_width();
  std::string text;
  if (terminal_height() >= least_height_for_plot)
    text =
        report::plot(trials_, {std::min(width - 1, widest_live_plot), live_plot_height, utf8_, {}});
  const std::string head = fmt::format("{} · trial {}{} · ", facts_.title, trials_.size() + 1,
                                       facts_.planned ? fmt::format("/{}", *facts_.planned) : "");
  // One column short, so that no terminal wraps them: the count of lines would be wrong.
  const std::string lines[] = {cut(head + status, width - 1),
                               cut(fmt::format("{} known{}", trials_.size(), eta()), width - 1)};
  for (const std::string& line : lines)
    text += fmt::format("{}{}{}\n", colour_ ? "\033[36m" : "", line, colour_ ? "\033[0m" : "");
  clear();
  fmt::print(stderr, "{}", text);
  lines_shown_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void LiveStudy::clear() {
  if (lines_shown_ > 0) fmt::print(stderr, "\033[{}A\r\033[J", lines_shown_);
  lines_shown_ = 0;
}

}  // namespace sweetspot::cli
