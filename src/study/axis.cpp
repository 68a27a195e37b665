#include "study/axis.h"

#include <limits>
#include <map>
#include <memory>

#include "core/error.h"

namespace sweetspot::study {

trial::Setting Axis::at(std::int64_t size) const {
  trial::Setting setting = base;
  setting.batch = global_batch.value_or(size);
  if (global_batch) setting.accumulation = *global_batch / size;
  return setting;
}

std::int64_t Axis::size(const trial::Setting& setting) const {
  return global_batch ? setting.micro_batch() : setting.batch;
}

std::vector<trial::Trial> Axis::on(const std::vector<trial::Trial>& trials) const {
  std::vector<trial::Trial> found;
  for (const trial::Trial& trial : trials) {
    const std::int64_t its_size = size(trial.setting);
    if (trial.setting != at(its_size)) continue;
    found.push_back(trial);
    found.back().setting.batch = its_size;
    found.back().setting.accumulation = global_batch ? 1 : trial.setting.accumulation;
  }
  return found;
}

search::Predict predictor(const workload::Workload& workload, const Axis& axis) {
  using Known = std::map<std::int64_t, std::optional<core::Bytes>>;
  return [&workload, axis, known = std::make_shared<Known>()](std::int64_t size) {
    const auto [entry, is_new] = known->try_emplace(size);
    if (!is_new) return entry->second;
    try {
      entry->second = workload.predict(axis.at(size), workload::Extent::whole_run);
    } catch (const core::Error&) {
      entry->second = std::numeric_limits<core::Bytes>::max();
    }
    return entry->second;
  };
}

}  // namespace sweetspot::study
