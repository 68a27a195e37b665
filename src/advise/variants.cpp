#include <algorithm>
#include <map>
#include <set>

#include "advise/advise.h"
#include "stats/moments.h"

namespace sweetspot::advise {
namespace {

// Smaller differences are equal: then the given order decides, or for energy the time.
constexpr double about_equal = 0.01;

bool is_allowed(const Recommendation& made) {
  const BatchRow* row = made.chosen_row();
  return made.joules_per_sample && row && row->within_tolerance.value_or(0) >= 0.5;
}

bool is_better(const Recommendation& one, const Recommendation& than) {
  switch (than.objective) {
    case search::Objective::max_batch:
      if (one.batch != than.batch) return one.batch > than.batch;
      break;
    case search::Objective::energy:
      if (is_allowed(one) != is_allowed(than)) return is_allowed(one);
      if (is_allowed(one) && *one.joules_per_sample < (1 - about_equal) * *than.joules_per_sample)
        return true;
      if (is_allowed(one) && *than.joules_per_sample < (1 - about_equal) * *one.joules_per_sample)
        return false;
      break;
    case search::Objective::throughput:
      break;
  }
  return one.samples_per_second > (1 + about_equal) * than.samples_per_second;
}

Variant variant_of(const Recommendation& made) {
  return {made.setting.configuration.with_loader_of({}),
          made.batch,
          made.samples_per_second,
          made.joules_per_sample,
          std::nullopt,
          made.rows};
}

// Losses of one variant at one size: by step, over its trials.
using LossesByStep = std::map<std::int64_t, stats::Moments>;

LossesByStep losses_of(const Variant& variant, std::int64_t size, const Recommendation& made,
                       std::span<const trial::Trial> trials) {
  LossesByStep found;
  for (const trial::Trial& trial : trials) {
    const trial::Setting& own = trial.setting;
    const std::int64_t its_size = made.global_batch ? own.micro_batch() : own.batch;
    if (trial.outcome != trial::Outcome::ok || its_size != size ||
        !is_same_variant(own.configuration, variant.configuration))
      continue;
    for (const trial::Loss& loss : trial.losses) found[loss.step].add(loss.value);
  }
  return found;
}

// After the largest step count that all of them reached, at the answer's own size if possible.
void add_losses(Recommendation& made, std::span<const trial::Trial> trials) {
  std::vector<std::int64_t> sizes{made.batch};
  for (const BatchRow& row : made.rows) sizes.push_back(row.batch);
  for (const std::int64_t size : sizes) {
    std::vector<LossesByStep> all;
    for (const Variant& variant : made.variants)
      all.push_back(losses_of(variant, size, made, trials));
    std::optional<std::int64_t> last;
    for (const auto& [step, losses] : all.front())
      if (std::ranges::all_of(all, [&](const LossesByStep& each) { return each.contains(step); }))
        last = step;
    if (!last) continue;
    made.loss_batch = size, made.loss_step = last;
    for (std::size_t i = 0; i < all.size(); ++i) made.variants[i].loss = all[i].at(*last).mean();
    return;
  }
}

bool differs(const std::vector<Variant>& variants, const trial::SettingField& field) {
  return std::ranges::any_of(variants, [&](const Variant& v) {
    return field.of(v.configuration) != field.of(variants.front().configuration);
  });
}
bool precisions_differ(const Recommendation& made) {
  return differs(made.variants, trial::setting_field("precision"));
}

}  // namespace

// What is unknown unless it was asked for is told even of a single curve.
std::vector<const trial::SettingField*> told_fields(const Recommendation& made) {
  std::vector<const trial::SettingField*> told;
  for (const trial::SettingField& field : trial::setting_fields()) {
    const bool was_asked_for = field.of(trial::Configuration{}) == trial::Value{} &&
                               field.of(made.setting) != trial::Value{};
    if (field.preposition && (was_asked_for || differs(made.variants, field)))
      told.push_back(&field);
  }
  return told;
}

std::string name_of(const Variant& variant, const Recommendation& made) {
  std::string name;
  for (const trial::SettingField* field : told_fields(made))
    name += (name.empty() ? "" : ", ") + field->phrase(field->of(variant.configuration));
  return name;
}

Fastest fastest(const Recommendation& made) {
  Fastest found;
  const auto look = [&](const std::vector<BatchRow>& rows, const Variant* variant) {
    for (const BatchRow& row : rows)
      if (row.samples_per_second &&
          (!found.row || row.samples_per_second->mean > found.row->samples_per_second->mean))
        found = {&row, variant};
  };
  for (const Variant& variant : made.variants) look(variant.rows, &variant);
  if (made.variants.empty()) look(made.rows, nullptr);
  return found;
}

Recommendation best_variant(std::vector<Recommendation> made,
                            std::span<const trial::Trial> trials) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < made.size(); ++i)
    if (is_better(made[i], made[best])) best = i;
  if (made.size() == 1) return std::move(made.front());
  Recommendation chosen = made[best];
  for (const Recommendation& each : made) chosen.variants.push_back(variant_of(each));
  if (const Fastest found = fastest(chosen); found.row && found.row->joules_per_sample)
    chosen.best_joules_per_sample = found.row->joules_per_sample->mean;
  if (precisions_differ(chosen)) {
    add_losses(chosen, trials);
    // Before the reasons of the single curve.
    const auto at = std::ranges::find_if(chosen.reasons, [](Reason reason) {
      return reason == Reason::noise || reason == Reason::learning_rate ||
             reason == Reason::step_cost;
    });
    std::vector<Reason> more{Reason::precision};
    if (chosen.loss_step) more.push_back(Reason::loss);
    chosen.reasons.insert(at, more.begin(), more.end());
  }
  return chosen;
}

}  // namespace sweetspot::advise
