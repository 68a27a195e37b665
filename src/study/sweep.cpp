#include "study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "core/text.h"
#include "study/predict.h"

namespace sweetspot::study {
namespace {

// Why the point cannot be run, or nothing.
std::optional<std::string> objection(const workload::Workload& workload,
                                     const trial::Setting& setting, const SweepOptions& options) {
  if (setting.batch % setting.accumulation != 0)
    return fmt::format("an accumulation of {} does not divide it", setting.accumulation);
  if (const auto samples = workload.samples(); samples && setting.batch > *samples)
    return fmt::format("the data set has {} samples",
                       core::format_count(static_cast<double>(*samples)));
  const auto bytes = predictor(workload, {setting, {}})(setting.batch);
  if (bytes && options.memory_limit && *bytes > *options.memory_limit)
    return fmt::format("{} predicted, {} allowed", core::format_bytes(*bytes),
                       core::format_bytes(*options.memory_limit));
  return std::nullopt;
}

trial::Trial refused(const workload::Workload& workload, const trial::Setting& setting,
                     const std::string& why) {
  trial::Trial trial;
  trial.setting = setting;
  trial.outcome = trial::Outcome::refused;
  trial.note = why;
  if (setting.batch % setting.accumulation == 0)
    trial.memory_predicted = predictor(workload, {setting, {}})(setting.batch);
  return trial;
}

std::int64_t times_done(const Loop& loop, const trial::Setting& setting) {
  return std::count_if(loop.trials().begin(), loop.trials().end(),
                       [&](const trial::Trial& trial) { return trial.setting == setting; });
}

}  // namespace

// Fisher-Yates, with the round's own numbers.
std::vector<std::size_t> round_order(std::size_t points, int round, std::uint64_t seed) {
  std::vector<std::size_t> order(points);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const core::Random random(seed, core::Purpose::shuffle, static_cast<std::uint32_t>(round));
  for (std::size_t left = points; left > 1; --left)
    std::swap(order[left - 1], order[random.below(left, left)]);
  return order;
}

SweepResult sweep(workload::Workload& workload, store::Writer& writer, const SweepOptions& options,
                  Observer& observer, const std::atomic<int>& stop) {
  Loop loop(workload, writer, options.loop, observer, stop);
  for (int round = 0; round < options.repeat; ++round)
    for (const std::size_t i : round_order(options.points.size(), round, options.seed)) {
      const trial::Setting& setting = options.points[i];
      if (times_done(loop, setting) > round) continue;
      if (!loop.may_go_on()) break;
      if (const auto why = objection(workload, setting, options))
        loop.keep(refused(workload, setting, *why));
      else
        loop.run(setting);
    }
  loop.close();
  return {loop.end(),
          loop.store_error(),
          loop.trials(),
          loop.resumed(),
          options.points.size() * static_cast<std::size_t>(options.repeat),
          loop.spent()};
}

}  // namespace sweetspot::study
