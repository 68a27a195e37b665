#include "advise/contention.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/advise.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

bool is_contended(const trial::Trial& trial) { return trial.contention.contended; }

bool only_contended(std::span<const trial::Trial> trials, std::int64_t batch) {
  const auto tells = [&](const trial::Trial& t) {
    return t.setting.batch == batch && t.outcome == trial::Outcome::ok && t.samples_per_second;
  };
  return std::ranges::any_of(trials, tells) &&
         std::ranges::all_of(trials,
                             [&](const trial::Trial& t) { return !tells(t) || is_contended(t); });
}

// By the last trial that knows.
std::string cause(std::span<const trial::Trial> trials) {
  double share = 0;
  std::string said;
  for (const trial::Trial& t : trials) {
    share = std::max({share, t.contention.cpu_pressure_share.value_or(0),
                      t.contention.other_cpu_share.value_or(0)});
    if (!t.contention.reason.empty()) said = core::printable(t.contention.reason);
  }
  if (!said.empty()) return said;
  return fmt::format("other work took or waited for up to {:.0f}% of the time", 100 * share);
}

}  // namespace

bool rests_on_contended(std::span<const trial::Trial> trials, const search::Choice& choice) {
  return only_contended(trials, choice.batch) || only_contended(trials, choice.best_batch);
}

std::optional<std::string> contention_reason(std::span<const trial::Trial> trials,
                                             const search::Choice& choice) {
  const auto contended = std::ranges::count_if(trials, is_contended);
  if (contended == 0) return std::nullopt;
  const std::string what = fmt::format("the machine was contended in {} of {} trials ({})",
                                       contended, trials.size(), cause(trials));
  constexpr const char* meaning =
      "the intervals are wider for it, and a quiet machine may answer otherwise";
  if (!rests_on_contended(trials, choice)) return fmt::format("{}: {}", what, meaning);
  const std::int64_t batch =
      only_contended(trials, choice.batch) ? choice.batch : choice.best_batch;
  return fmt::format("{}: {}, and there is no undisturbed one of batch {}: {}", measured_while_busy,
                     what, core::format_count(static_cast<double>(batch)), meaning);
}

std::optional<std::string> disturbance_reason(std::span<const trial::Trial> trials) {
  constexpr double worth_a_word = 0.05;
  double all = 0, disturbed = 0;
  for (const trial::Trial& t : trials) {
    if (!t.contention.disturbed_share || is_contended(t)) continue;
    all += t.seconds, disturbed += t.seconds * *t.contention.disturbed_share;
  }
  if (all == 0 || disturbed < worth_a_word * all) return std::nullopt;
  return fmt::format(
      "{:.0f}% of the time the CPUs were slower than they have been (a neighbour of a virtual "
      "machine, a throttled clock): these steps do not count",
      100 * disturbed / all);
}

}  // namespace sweetspot::advise
