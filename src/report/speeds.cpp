#include "report/speeds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/evidence.h"
#include "search/knee.h"
#include "stats/quantile.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {
namespace {

using Base = std::pair<std::string, trial::Setting>;  // a device, and all but batch and seed
using Groups = std::map<Base, std::vector<const trial::Trial*>>;

bool has_given_batch(const ShownStudy& study) {
  return study.recommendation() && study.recommendation()->global_batch;
}

// With a given batch the accumulation varies.
Base base_of(const trial::Trial& t, bool given_batch) {
  trial::Setting setting = t.setting;
  setting.batch = 1, setting.seed = 0;
  if (given_batch) setting.accumulation = 1;
  return {t.device, setting};
}

// The parts that differ between the curves.
std::string name_of(const Base& base, const Groups& all) {
  std::string name;
  const auto add = [&](const auto& part, const std::string& words) {
    if (std::ranges::any_of(all, [&](const auto& e) { return part(e.first) != part(base); }))
      name += (name.empty() ? "" : ", ") + words;
  };
  add([](const Base& each) { return each.first; }, base.first);
  for (const trial::SettingField& field : trial::setting_fields())
    add([&](const Base& each) { return field.of(each.second); },
        field.phrase(field.of(base.second)));
  return name;
}

// What the search needs. Copying millions of steps would be noticeable; only blocks of rounds
// count.
trial::Trial for_search(const trial::Trial& t, std::int64_t size) {
  trial::Trial copy;
  copy.setting = t.setting;
  copy.setting.batch = size, copy.setting.accumulation = 1;
  copy.outcome = t.outcome, copy.samples_per_second = t.samples_per_second;
  copy.contention.contended = t.contention.contended;
  std::ranges::copy_if(t.raw, std::back_inserter(copy.raw),
                       [](const trial::Step& step) { return step.round > 0; });
  return copy;
}

// The model of whole curves weighs every pair of cliffs between batches, which takes minutes for a
// grid of a hundred: the measurements of each batch are enough here.
void find_speeds(Curve& curve, const ShownStudy& study) {
  std::vector<trial::Trial> trials;
  for (const trial::Trial* t : curve.trials) trials.push_back(for_search(*t, size_of(*t, study)));
  const stats::StepTimes times = search::evidence(trials).times;
  const std::size_t count = times.batches.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double speed = static_cast<double>(times.batches[i]) / std::exp(times.log_seconds[i]);
    const double reach = std::exp(stats::normal95 * std::sqrt(times.covariance[i * count + i]));
    curve.samples_per_second[times.batches[i]] = {speed, speed / reach, speed * reach};
  }
  curve.cost = advise::step_cost(curve.trials);
}

bool is_recommended(const Curve& curve, const ShownStudy& study) {
  return std::ranges::any_of(curve.trials,
                             [&](const trial::Trial* t) { return row_of(*t, study) != nullptr; });
}

void recall_speeds(Curve& curve, const advise::Recommendation& made) {
  for (const advise::BatchRow& row : made.rows)
    if (row.samples_per_second) curve.samples_per_second[row.batch] = *row.samples_per_second;
  curve.cost = made.step_cost;
}

std::vector<const trial::Trial*> well_ended(const std::vector<const trial::Trial*>& trials,
                                            std::int64_t batch, const ShownStudy& study) {
  std::vector<const trial::Trial*> list;
  std::ranges::copy_if(trials, std::back_inserter(list), [&](const trial::Trial* t) {
    return size_of(*t, study) == batch && t->outcome == trial::Outcome::ok;
  });
  return list;
}

std::vector<FastestAtBatch> speeds_of(const advise::Recommendation& made, const ShownStudy& study) {
  std::vector<const trial::Trial*> trials;
  for (const trial::Trial& t : study.trials)
    if (row_of(t, study)) trials.push_back(&t);
  std::vector<FastestAtBatch> list;
  for (const advise::BatchRow& row : made.rows)
    if (row.samples_per_second)
      list.push_back({row.batch, *row.samples_per_second, well_ended(trials, row.batch, study)});
  return list;
}

bool only_contended(const FastestAtBatch& speed) {
  return !speed.trials.empty() && std::ranges::all_of(speed.trials, [](const trial::Trial* t) {
    return t->contention.contended;
  });
}

std::optional<Measured> measured_of(const std::vector<FastestAtBatch>& speeds, double tolerance) {
  if (speeds.empty()) return std::nullopt;
  std::vector<double> means;
  for (const FastestAtBatch& speed : speeds) means.push_back(speed.samples_per_second.mean);
  const FastestAtBatch& best =
      speeds[static_cast<std::size_t>(std::ranges::max_element(means) - means.begin())];
  const FastestAtBatch& knee = speeds[search::knee(means, tolerance)];
  return Measured{best.batch, knee.batch, best.samples_per_second.mean,
                  knee.samples_per_second.mean, only_contended(best) || only_contended(knee)};
}

}  // namespace

std::vector<Curve> curves(const ShownStudy& study) {
  Groups groups;
  for (const trial::Trial& t : study.trials)
    groups[base_of(t, has_given_batch(study))].push_back(&t);
  std::vector<Curve> list;
  for (const auto& [base, trials] : groups) {
    Curve curve;
    curve.name = name_of(base, groups), curve.trials = trials;
    if (!is_recommended(curve, study)) {
      find_speeds(curve, study);
      list.push_back(std::move(curve));
    } else {
      recall_speeds(curve, *study.recommendation());
      list.insert(list.begin(), std::move(curve));
    }
  }
  return list;
}

std::vector<FastestAtBatch> speeds(const ShownStudy& study) {
  if (study.recommendation()) return speeds_of(*study.recommendation(), study);
  std::map<std::int64_t, FastestAtBatch> fastest;
  for (const Curve& curve : curves(study))
    for (const auto& [batch, speed] : curve.samples_per_second)
      if (FastestAtBatch& known = fastest[batch]; speed.mean > known.samples_per_second.mean)
        known = {batch, speed, well_ended(curve.trials, batch, study)};
  std::vector<FastestAtBatch> list;
  for (auto& [batch, speed] : fastest) list.push_back(std::move(speed));
  return list;
}

std::optional<Measured> measured(const ShownStudy& study) {
  if (study.doubt()) return std::nullopt;  // the speeds belong to batches that were not used
  if (!study.recommendation()) return measured_of(speeds(study), study.facts.limits.tolerance);
  const advise::Recommendation& made = *study.recommendation();
  const advise::BatchRow* chosen = made.chosen_row();  // with the loader that all of them had
  const bool has_speed = chosen && chosen->samples_per_second;
  return Measured{made.best_batch, made.batch, made.best_samples_per_second,
                  has_speed ? chosen->samples_per_second->mean : made.samples_per_second,
                  made.contended};
}

}  // namespace sweetspot::report
