#include "study/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "core/error.h"
#include "search/evidence.h"
#include "study/loop.h"

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

std::optional<trial::Trial> Axis::sized(const trial::Trial& trial) const {
  const std::int64_t its_size = size(trial.setting);
  if (trial.setting != at(its_size)) return std::nullopt;
  std::optional<trial::Trial> found = trial;
  found->setting.batch = its_size;
  if (global_batch) found->setting.accumulation = 1;
  return found;
}

std::vector<trial::Trial> Axis::on(const std::vector<trial::Trial>& trials) const {
  std::vector<trial::Trial> found;
  for (const trial::Trial& trial : trials)
    if (auto one = sized(trial)) found.push_back(*std::move(one));
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

AxisState::AxisState(workload::Workload& workload, const Axis& axis)
    : workload_(&workload),
      axis_(axis),
      predict_(predictor(workload, axis)),
      batch_use_(workload) {}

void AxisState::set_limits(const search::Limits& limits) {
  if (limits == limits_) return;
  limits_ = limits;
  plan_.reset();
}

search::Limits AxisState::limits() const {
  search::Limits limits = limits_;
  limits.max = std::min(limits.max, batch_use_.verdict().limit.value_or(limits.max));
  limits.max = std::max(limits.min, limits.max);
  return limits;
}

void AxisState::update(Loop& loop) {
  if (revision_ == loop.revision()) return;
  revision_ = loop.revision();
  bool changed = trials_.size() > fixed_;
  trials_.resize(fixed_);
  const auto take = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if (auto one = axis_.sized(loop.trials()[i])) {
        trials_.push_back(*std::move(one));
        changed = true;
      }
  };
  take(taken_, loop.fixed());
  taken_ = loop.fixed(), fixed_ = trials_.size();
  take(taken_, loop.trials().size());
  if (changed) look(loop);
}

bool AxisState::settle(Loop& loop) {
  if (!batch_use_.settle()) return false;
  look(loop);
  return true;
}

void AxisState::look(Loop& loop) {
  batch_use_.look(trials_, loop);
  plan_.reset();
}

const search::Plan& AxisState::plan() {
  const trial::Switching switching = workload_->switching();
  if (!plan_ || planned_in_place_ != switching.in_place)
    plan_ = search::plan(trials_, limits(), predict_, switching);
  planned_in_place_ = switching.in_place;
  return *plan_;
}

std::optional<double> AxisState::best_measured() const {
  const stats::StepTimes times = search::evidence(trials_).times;
  std::optional<double> best;
  for (std::size_t i = 0; i < times.batches.size(); ++i)
    best = std::max(best.value_or(0),
                    static_cast<double>(times.batches[i]) / std::exp(times.log_seconds[i]));
  return best;
}

}  // namespace sweetspot::study
