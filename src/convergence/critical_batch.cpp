#include "convergence/critical_batch.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/interval.h"
#include "stats/moments.h"

namespace sweetspot::convergence {
namespace {

using Losses = std::map<std::int64_t, double>;  // by batch, of one seed

// Log₂ of the batch where one seed's loss first leaves the tolerance, interpolated linearly between
// the logs of two batches; the largest batch if it does not.
double crossing(const Losses& losses, double tolerance) {
  const double most = std::log1p(tolerance), smallest = std::log(losses.begin()->second);
  double before_batch = std::log2(static_cast<double>(losses.begin()->first)), before_rise = 0;
  for (const auto& [batch, loss] : losses) {
    const double here = std::log2(static_cast<double>(batch));
    const double rise = std::isfinite(loss) ? std::log(loss) - smallest : INFINITY;
    if (rise > most) {
      if (!std::isfinite(rise)) return before_batch;
      return before_batch + (here - before_batch) * (most - before_rise) / (rise - before_rise);
    }
    before_batch = here, before_rise = rise;
  }
  return before_batch;
}

BranchRow row_of(std::int64_t batch, const std::map<std::uint64_t, Losses>& seeds,
                 double tolerance) {
  BranchRow row;
  row.batch = batch;
  stats::Moments logs;
  for (const auto& [seed, losses] : seeds) {
    const auto found = losses.find(batch);
    if (found == losses.end()) continue;
    if (!std::isfinite(found->second)) {
      ++row.diverged;
      continue;
    }
    row.losses.push_back(found->second);
    row.ratios.push_back(found->second / losses.begin()->second);
    logs.add(std::log(row.ratios.back()));
  }
  row.ratio = std::exp(logs.mean());
  row.within = row.diverged == 0 && row.ratio <= 1 + tolerance;
  return row;
}

}  // namespace

std::optional<CriticalBatch> critical_batch(std::span<const BranchLoss> branches,
                                            double tolerance) {
  std::map<std::uint64_t, Losses> seeds;
  Losses any;
  for (const BranchLoss& branch : branches)
    seeds[branch.seed][branch.batch] = any[branch.batch] = branch.loss;
  if (any.size() < 2) return std::nullopt;
  // A seed counts only if all its batches are compared with the same one.
  const std::int64_t smallest = any.begin()->first;
  std::erase_if(seeds, [&](const auto& seed) {
    const auto& [batch, loss] = *seed.second.begin();
    return batch != smallest || !std::isfinite(loss) || loss <= 0;
  });
  if (seeds.empty()) return std::nullopt;

  CriticalBatch found;
  for (const auto& [batch, loss] : any) found.rows.push_back(row_of(batch, seeds, tolerance));
  const auto outside = std::ranges::find(found.rows, false, &BranchRow::within);
  found.batch = outside == found.rows.begin() ? smallest : std::prev(outside)->batch;
  found.at_least = outside == found.rows.end();
  std::vector<double> crossings;
  for (const auto& [seed, losses] : seeds) crossings.push_back(crossing(losses, tolerance));
  if (const auto mean = stats::independent_mean(crossings))
    found.crossing =
        stats::Interval{std::exp2(mean->mean), std::exp2(mean->low), std::exp2(mean->high)};
  return found;
}

}  // namespace sweetspot::convergence
