#include "cli/live/live_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/live/terminal.h"
#include "cli/output.h"
#include "core/interval.h"
#include "core/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "trial/setting_fields.h"

namespace sweetspot::cli {
namespace {

// A program's last output may be long: only its first line, the rest is in the store. Advice comes
// complete with the answer: a truncated expression is worse than none.
std::string first_line(const std::string& note) {
  constexpr std::size_t most = 100;
  return cut(core::printable(report::short_reason(note.substr(0, note.find('\n')))), most);
}

std::string setting_words(const trial::Setting& s) {
  std::string text = fmt::format("batch {}", core::format_count(static_cast<double>(s.batch)));
  if (s.accumulation > 1) text += fmt::format(" as {} × {}", s.accumulation, s.micro_batch());
  for (const trial::SettingField& field : trial::setting_fields())
    if (const trial::Value value = field.of(s);
        field.preposition && value != field.of(trial::Setting{}))
      text += fmt::format(" {} {}", field.preposition, field.phrase(value));
  return text;
}

std::string_view ending_words(trial::StopReason reason) {
  switch (reason) {
    case trial::StopReason::precise:
      return "precise enough";
    case trial::StopReason::noise_floor:
      return "no more precise with more steps";
    case trial::StopReason::max_steps:
      return "at the limit of steps";
    case trial::StopReason::time_limit:
      return "at the time limit";
    case trial::StopReason::ended:
      return "the program ended";
  }
  return "";
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

// "1,064 steps in 16.4 s, test accuracy 99.04%", of a run towards a target.
std::string evaluation_words(const trial::Trial& t) {
  const trial::Evaluation& last = t.evaluations.back();
  std::string text =
      fmt::format("{} steps in {}", core::format_count(static_cast<double>(last.steps)),
                  core::format_duration(core::Seconds(last.train_seconds)));
  if (last.test_accuracy)
    text += fmt::format(", test accuracy {:.2f}%", 100 * *last.test_accuracy);
  else if (last.test_loss)
    text += fmt::format(", test loss {:.4g}", *last.test_loss);
  if (t.stop_reason == trial::StopReason::max_steps) text += ", given up";
  return text + (t.contention.contended ? ", contended" : "");
}

}  // namespace

std::string trial_line(const trial::Trial& t) {
  std::string text = setting_words(t.setting);
  const bool trained = !t.epochs.empty() || !t.evaluations.empty();
  if (trained) text += fmt::format(", seed {}", t.setting.seed);
  text += ": ";
  if (t.outcome != trial::Outcome::ok || (!t.samples_per_second && !trained))
    return text + std::string(name(t.outcome)) +
           (t.note.empty() ? "" : fmt::format(" ({})", first_line(t.note)));
  if (!t.evaluations.empty()) return text + evaluation_words(t);
  if (!t.epochs.empty()) return text + epochs_words(t);
  const trial::Interval& speed = *t.samples_per_second;
  text += fmt::format("{} samples/s {}", core::format_count(speed.mean),
                      core::format_interval_percent(speed.mean, speed.low, speed.high));
  if (t.step_seconds_median)
    text += fmt::format(", step {}", core::format_duration(core::Seconds(*t.step_seconds_median)));
  text += fmt::format(", steps: {}", report::counted_words(t));
  if (t.stop_reason) text += fmt::format(", {}", ending_words(*t.stop_reason));
  if (!t.contention.contended) return text;
  return text + (t.contention.reason.empty()
                     ? ", contended"
                     : fmt::format(", contended: {}", core::printable(t.contention.reason)));
}

std::string sight_line(const measure::TrialProgress& sight, double precision) {
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

std::string waiting_line(const trial::Setting& setting, const workload::Waiting& waiting) {
  if (waiting.lines == 0)
    return fmt::format("{}: begun {:.0f} s ago, nothing printed yet", setting_words(setting),
                       waiting.seconds);
  return fmt::format("{}: {} line{}, no step recognised yet: {}", setting_words(setting),
                     core::format_count(static_cast<double>(waiting.lines)),
                     waiting.lines == 1 ? "" : "s", waiting.last_line);
}

std::string standing_words(const study::Standing& standing, double tolerance) {
  if (!standing.decision) return "";
  const search::Decision& decision = *standing.decision;
  std::string text =
      fmt::format("so far {}", core::format_count(static_cast<double>(decision.batch)));
  if (decision.batch != decision.best_batch)
    text += fmt::format(", {:.0f}% sure to be within {:g}%",
                        100 * decision.chosen().within_tolerance, 100 * tolerance);
  return text;
}

LiveStudy::LiveStudy(LiveFacts facts)
    : facts_(std::move(facts)), terminal_(is_live_terminal()), colour_(has_colour()) {}

void LiveStudy::resumed(std::span<const trial::Trial> trials) {
  known_ = trials.size();
  if (!trials.empty())
    Output::talk(fmt::format("{} finished trial{} known already; --fresh measures them again",
                             trials.size(), trials.size() == 1 ? " is" : "s are"));
}

void LiveStudy::started(const trial::Setting& setting) {
  if (!in_rounds_) draw(setting_words(setting) + ", opening");
}

void LiveStudy::sight(const measure::TrialProgress& sight) {
  if (in_rounds_) return;
  if (!sight.waiting) return draw(sight_line(sight, facts_.precision));
  const std::string line = waiting_line(*sight.setting, *sight.waiting);
  draw(line);
  // If no line is rewritten, once.
  constexpr double worth_a_line_seconds = 10;
  if (terminal_ || told_of_waiting_ || sight.waiting->lines == 0 ||
      sight.waiting->seconds < worth_a_line_seconds)
    return;
  told_of_waiting_ = true;
  talk(line);
}

void LiveStudy::standing(const study::Standing& standing) {
  so_far_ = standing_words(standing, facts_.tolerance);
  in_rounds_ = standing.limit_seconds > 0;
  if (!in_rounds_) return;
  const std::string time =
      fmt::format("{:.0f} of {:.0f} s", standing.seconds, standing.limit_seconds);
  const std::string rounds =
      fmt::format("round {}, {} batch{}", standing.rounds, standing.batches.size(),
                  standing.batches.size() == 1 ? "" : "es");
  draw(time, rounds);
  if (!facts_.verbose) return;
  std::string batches;
  for (const std::int64_t batch : standing.batches) batches += fmt::format(" {}", batch);
  talk(fmt::format("{}, {}:{}{}", time, rounds, batches, so_far_.empty() ? "" : "; " + so_far_));
}

// Interleaved trials end all at once: the table has them.
void LiveStudy::finished(const trial::Trial& trial) {
  ++known_;
  if (facts_.verbose || (!terminal_ && !in_rounds_)) talk(trial_line(trial));
}

// One line, one column short, so that no terminal wraps it: nothing is left behind when it scrolls.
void LiveStudy::draw(const std::string& status, const std::string& detail) {
  if (!terminal_) return;
  std::string moving;
  if (facts_.planned) moving += fmt::format(" · trial {}/{}", known_ + 1, *facts_.planned);
  if (!so_far_.empty()) moving += " · " + so_far_;
  moving += " · " + status;
  // A command may be long, and the user already knows it.
  constexpr std::size_t least_of_the_title = 20;
  const std::size_t width = terminal_width() - 1;
  if (const std::string longer = moving + ", " + detail;
      !detail.empty() && least_of_the_title + report::display_width(longer) <= width)
    moving = longer;
  const std::size_t taken = report::display_width(moving);
  std::string title = facts_.title;
  if (report::display_width(title) + taken > width) {
    const std::size_t left = width > taken ? width - taken : 0;
    title = cut(title, std::max(left, least_of_the_title) - 1) + "…";
  }
  const std::string text = cut(title + moving, width);
  fmt::print(stderr, "\r\033[K{}{}{}", colour_ ? "\033[36m" : "", text, colour_ ? "\033[0m" : "");
  shown_ = true;
}

void LiveStudy::talk(const std::string& line) {
  clear();
  Output::talk(line);
}

void LiveStudy::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace sweetspot::cli
