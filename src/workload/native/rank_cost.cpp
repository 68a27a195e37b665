#include "workload/native/rank_cost.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "collective/threads/threads.h"
#include "workload/native/session.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {

double rank_cost_seconds(const Run& run, const trial::Setting& setting, core::Seconds time) {
  using Clock = std::chrono::steady_clock;
  constexpr double block_seconds = 0.05;
  const auto only_rank = collective::alone();
  Options options = session_options_at(run, setting);
  const std::unique_ptr<Session> plain = Sessions().open(run, options);
  options.ranks.group = only_rank.get();
  const std::unique_ptr<Session> as_rank = Sessions().open(run, options);
  const auto block = [&](Session& session) {
    double seconds = 0;
    std::int64_t steps = 0;
    session.step();  // its data comes back into the caches
    for (; seconds < block_seconds; ++steps) seconds += session.step().seconds;
    return seconds / static_cast<double>(steps);
  };
  std::vector<double> differences;
  const auto start = Clock::now();
  while (differences.empty() || core::Seconds(Clock::now() - start) < time) {
    const double before = block(*plain);
    const double between = block(*as_rank);
    differences.push_back(between - (before + block(*plain)) / 2);
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::ranges::nth_element(differences, middle);
  return std::max(*middle, 0.0);
}

}  // namespace sweetspot::workload::native
