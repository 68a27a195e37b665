#include "convergence/successive_halving.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace sweetspot::convergence {
namespace {

constexpr double hopeless = 2;  // times the smallest cost so far
constexpr int fewest_compared = 2;

// The results of one batch's runs.
struct Standing {
  std::int64_t batch = 1;
  int runs = 0, reached = 0;
  bool failed = false;
  double cost_sum = 0;

  bool is_out() const { return failed || reached < runs; }
  double cost() const {
    return reached > 0 ? cost_sum / reached : std::numeric_limits<double>::infinity();
  }
};

std::map<std::int64_t, Standing> standings(std::span<const RaceRun> runs) {
  std::map<std::int64_t, Standing> found;
  for (const RaceRun& run : runs) {
    Standing& standing = found[run.batch];
    standing.batch = run.batch;
    ++standing.runs;
    standing.failed = standing.failed || run.failed;
    if (!run.cost) continue;
    ++standing.reached;
    standing.cost_sum += *run.cost;
  }
  return found;
}

std::optional<double> least_cost(const std::map<std::int64_t, Standing>& found) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [batch, standing] : found)
    if (!standing.is_out()) least = std::min(least, standing.cost());
  return std::isfinite(least) ? std::optional(least) : std::nullopt;
}

RaceStep step_of(std::int64_t batch, int seed, const std::optional<double>& least) {
  RaceStep step{batch, seed};
  if (least) step.most_cost = hopeless * *least;
  return step;
}

// Every batch with every seed: a complete reference.
std::optional<RaceStep> next_of_all(std::span<const RaceEntry> entries,
                                    const std::map<std::int64_t, Standing>& found,
                                    std::span<const RaceRun> runs, const RaceRules& rules) {
  if (!found.contains(rules.pilot)) return RaceStep{rules.pilot};
  for (int seed = 0; seed < rules.seeds; ++seed)
    for (const RaceEntry& entry : entries) {
      const auto same = [&](const RaceRun& run) {
        return run.batch == entry.batch && run.seed == seed && !run.given_up;
      };
      const auto known = found.find(entry.batch);
      if (known != found.end() && known->second.failed) continue;
      if (std::ranges::none_of(runs, same)) return RaceStep{entry.batch, seed};
    }
  return std::nullopt;
}

// The batch to enter next with the first seed; nullopt if all are in, or none could win.
std::optional<std::int64_t> next_entry(std::span<const RaceEntry> entries,
                                       const std::map<std::int64_t, Standing>& found,
                                       const RaceRules& rules, const std::optional<double>& least) {
  if (!found.contains(rules.pilot)) return rules.pilot;
  const auto in =
      std::ranges::count_if(found, [](const auto& each) { return !each.second.failed; });
  if (in >= *rules.finalists) return std::nullopt;
  const RaceEntry* best = nullptr;
  for (const RaceEntry& entry : entries)
    if (!found.contains(entry.batch) && (!best || entry.predicted_cost < best->predicted_cost))
      best = &entry;
  if (!best || (in >= fewest_compared && least && best->least_cost > *least)) return std::nullopt;
  return best->batch;
}

}  // namespace

std::optional<RaceStep> next_run(std::span<const RaceEntry> entries, std::span<const RaceRun> runs,
                                 const RaceRules& rules) {
  const std::map<std::int64_t, Standing> found = standings(runs);
  if (!rules.finalists) return next_of_all(entries, found, runs, rules);
  const std::optional<double> least = least_cost(found);
  if (const auto batch = next_entry(entries, found, rules, least)) return step_of(*batch, 0, least);
  int field = *rules.finalists;
  for (int seed = 1; seed < rules.seeds; ++seed) {
    field = std::max(fewest_compared, (field + 1) / 2);
    // Those that ran with the previous seed, the best of them by their runs up to then: a later run
    // decides later.
    std::vector<RaceRun> before;
    for (const RaceRun& run : runs)
      if (run.seed < seed) before.push_back(run);
    std::vector<Standing> ranked;
    for (const auto& [batch, standing] : standings(before))
      if (!standing.is_out() && standing.runs == seed) ranked.push_back(standing);
    std::ranges::sort(ranked, {}, &Standing::cost);
    if (ranked.size() > static_cast<std::size_t>(field))
      ranked.resize(static_cast<std::size_t>(field));
    for (const Standing& standing : ranked) {
      const auto same = [&](const RaceRun& run) {
        return run.batch == standing.batch && run.seed == seed;
      };
      if (std::ranges::none_of(runs, same)) return step_of(standing.batch, seed, least);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> winner(std::span<const RaceRun> runs) {
  const auto better = [](const Standing& a, const Standing& b) {
    if (a.is_out() != b.is_out()) return b.is_out();
    if (a.is_out() && a.reached != b.reached) return a.reached > b.reached;
    if (!a.is_out() && a.runs != b.runs) return a.runs > b.runs;
    return a.cost() < b.cost();
  };
  const Standing* best = nullptr;
  const std::map<std::int64_t, Standing> found = standings(runs);
  for (const auto& [batch, standing] : found)
    if (standing.reached > 0 && (!best || better(standing, *best))) best = &standing;
  return best ? std::optional(best->batch) : std::nullopt;
}

}  // namespace sweetspot::convergence
