#include "study/memory_prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/error.h"
#include "search/memory_fit.h"

namespace sweetspot::study {

search::Predict predictor(const workload::Workload& workload, const Axis& axis) {
  using Known = std::map<std::int64_t, std::optional<core::Bytes>>;
  return [&workload, axis, known = std::make_shared<Known>()](std::int64_t size) {
    const auto [entry, is_new] = known->try_emplace(size);
    if (!is_new) return entry->second;
    try {
      entry->second = workload.predict_run(axis.at(size));
    } catch (const core::Error&) {
      entry->second = std::numeric_limits<core::Bytes>::max();
    }
    return entry->second;
  };
}

MemoryExpected expected_memory(std::span<const trial::Trial> trials,
                               const trial::Setting& setting) {
  std::vector<trial::Trial> alike;
  for (const trial::Trial& trial : trials) {
    trial::Setting same = trial.setting;
    same.batch = setting.batch, same.accumulation = setting.accumulation;
    if (same != setting) continue;
    alike.push_back(trial);
    alike.back().setting.batch = trial.setting.micro_batch();
  }
  const search::Predict none;
  const search::MemoryFit fit(alike, none);
  const auto as_bytes = [](std::optional<double> value) -> std::optional<core::Bytes> {
    if (!value) return std::nullopt;
    return static_cast<core::Bytes>(std::llround(std::max(0.0, *value)));
  };
  return {as_bytes(fit.expected_bytes(setting.micro_batch())),
          as_bytes(fit.least_bytes(setting.micro_batch()))};
}

}  // namespace sweetspot::study
