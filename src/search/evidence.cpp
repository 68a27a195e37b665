#include "search/evidence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

// No machine repeats itself better than this between two trials, however tight each was.
constexpr double least_deviation_share = 0.003;

struct Mean {
  double weight = 0, weighted_log_seconds = 0;
};

}  // namespace

Evidence evidence(std::span<const trial::Trial> trials) {
  Evidence all;
  std::map<std::int64_t, Mean> means;
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    switch (trial.outcome) {
      case trial::Outcome::cancelled:
        continue;
      case trial::Outcome::out_of_memory:
      case trial::Outcome::timed_out:
      case trial::Outcome::killed:  // perhaps for its memory: larger ones would fare no better
        all.too_large = std::min(batch, all.too_large.value_or(batch));
        all.failed.insert(batch);
        continue;
      case trial::Outcome::crashed:
      case trial::Outcome::refused:
        all.failed.insert(batch);
        continue;
      case trial::Outcome::ok:
        break;
    }
    const auto& speed = trial.samples_per_second;
    if (!speed || !(speed->mean > 0) || !std::isfinite(speed->mean)) {
      all.failed.insert(batch);
      continue;
    }
    const double half = std::log(speed->high / speed->low) / 2;  // not finite when unknown
    const double deviation = std::isfinite(half) && half > 0 ? half / stats::normal95 : 0;
    const double weight =
        1 / (deviation * deviation + least_deviation_share * least_deviation_share);
    means[batch].weight += weight;
    means[batch].weighted_log_seconds +=
        weight * std::log(static_cast<double>(batch) / speed->mean);
  }
  for (const auto& [batch, mean] : means) {
    all.failed.erase(batch);
    all.points.push_back(
        {batch, std::exp(mean.weighted_log_seconds / mean.weight), 1 / std::sqrt(mean.weight)});
    all.largest_ok = batch;
  }
  return all;
}

}  // namespace sweetspot::search
