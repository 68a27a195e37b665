#include "study/search_axis.h"

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

}  // namespace sweetspot::study
