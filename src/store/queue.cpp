#include "store/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sweetspot::store {
namespace {

constexpr std::array<std::string_view, 4> endings{"running", "finished", "lost", "given_back"};

}  // namespace

std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has) {
  std::vector<trial::Setting> left(has.begin(), has.end()), found;
  for (const trial::Setting& setting : wanted) {
    const auto there = std::ranges::find(left, setting);
    if (there == left.end())
      found.push_back(setting);
    else
      left.erase(there);
  }
  return found;
}

trial::Trial lost_trial(const trial::Setting& setting, int times, const std::string& host,
                        std::int64_t pid) {
  trial::Trial trial;
  trial.setting = setting;
  trial.outcome = trial::Outcome::killed;
  trial.note = fmt::format("its process was lost {}, the last on {} (pid {})",
                           times == 1 ? "once" : fmt::format("{} times", times), host, pid);
  return trial;
}

std::string_view name(Attempt::Ending ending) { return endings[static_cast<std::size_t>(ending)]; }

std::optional<Attempt::Ending> ending_named(std::string_view text) {
  const auto found = std::ranges::find(endings, text);
  if (found == endings.end()) return std::nullopt;
  return static_cast<Attempt::Ending>(found - endings.begin());
}

}  // namespace sweetspot::store
