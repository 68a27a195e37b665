#include "report/answer.h"

#include <algorithm>
#include <tuple>

namespace sweetspot::report {

std::int64_t size_of(const trial::Trial& trial, const Answer& answer) {
  return answer.recommendation && answer.recommendation->global_batch ? trial.setting.micro_batch()
                                                                      : trial.setting.batch;
}

const advise::BatchRow* row_of(const trial::Trial& trial, const Answer& answer) {
  if (!answer.recommendation) return nullptr;
  const advise::Recommendation& made = *answer.recommendation;
  const trial::Setting &own = trial.setting, &chosen = made.setting;
  const bool same_loader = own.workers == chosen.workers && own.prefetch == chosen.prefetch;
  // Trials have the learning rate that was given, whatever the answer's is.
  const double given_rate =
      made.learning_rate ? made.learning_rate->base.rate : chosen.learning_rate;
  // A loader that helped is recommended, but was tried at one batch only.
  const bool is_check = made.loader_check && check_helped(*made.loader_check);
  if (same_loader == is_check || own.precision != chosen.precision ||
      own.learning_rate != given_rate || own.power_limit_watts != chosen.power_limit_watts)
    return nullptr;
  const auto found = std::ranges::find(made.rows, size_of(trial, answer), &advise::BatchRow::batch);
  return found == made.rows.end() ? nullptr : &*found;
}

std::vector<Row> rows(const Answer& answer) {
  std::vector<Row> list;
  const auto bottlenecks = advise::bottlenecks(answer.trials, answer.facts);
  for (std::size_t i = 0; i < answer.trials.size(); ++i) {
    const trial::Trial& trial = answer.trials[i];
    const advise::BatchRow* row = row_of(trial, answer);
    const bool is_told = row && trial.outcome == row->outcome;
    list.push_back({&trial, static_cast<std::int64_t>(i) + 1,
                    is_told ? row->limited_by : bottlenecks[i], answer.doubt.has_value()});
  }
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    const trial::Setting &x = a.trial->setting, &y = b.trial->setting;
    return std::tie(x.batch, x.accumulation, x.workers, x.precision, x.power_limit_watts) <
           std::tie(y.batch, y.accumulation, y.workers, y.precision, y.power_limit_watts);
  });
  return list;
}

}  // namespace sweetspot::report
