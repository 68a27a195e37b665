#include "api/answer.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/keep.h"
#include "api/values.h"
#include "report/forms.h"
#include "search/evidence.h"
#include "stats/quantile.h"

namespace sweetspot::api {
namespace {

Status public_status(study::Status status) {
  switch (status) {
    case study::Status::found:
      return Status::found;
    case study::Status::nothing_feasible:
      return Status::nothing_feasible;
    case study::Status::budget:
      return Status::budget;
    case study::Status::stopped:
      return Status::stopped;
    case study::Status::store_failed:
      return Status::store_failed;
    case study::Status::device_lost:  // a callback has its own, which we know nothing of
      break;
  }
  return Status::nothing_feasible;
}

// Of all trials of the batch together, around what is recommended. A batch that is the model's idea
// alone has the value and no width.
Interval speed_of(const advise::Recommendation& made, const std::vector<trial::Trial>& trials) {
  double reach = 1;
  for (const stats::StepPoint& point : search::evidence(trials).points)
    if (point.batch == made.setting.batch)
      reach = std::exp(stats::normal95 * point.deviation_share);
  const double mean = made.samples_per_second;
  return {mean, mean / reach, mean * reach};
}

report::Answer reported(const study::TuneResult& found, const std::string& workload,
                        const std::string& study) {
  report::Answer answer;
  answer.study = study;
  answer.workload = workload;
  answer.status = name(found.status);
  answer.message = found.message;
  answer.trials = found.trials;
  answer.resumed = found.resumed;
  answer.seconds = found.spent.count();
  answer.recommendation = found.recommendation;
  answer.facts = found.facts;
  answer.environment_json = environment_json();
  return answer;
}

}  // namespace

Result answer(const study::TuneResult& found, const std::string& workload,
              const std::string& study) {
  Result result;
  result.status = public_status(found.status);
  result.message = found.message;
  if (const auto& made = found.recommendation) {
    result.batch = static_cast<int>(made->setting.batch);
    result.samples_per_second = speed_of(*made, found.trials);
    result.throughput_share = made->throughput_share;
    result.memory_bytes = made->memory_bytes;
    if (made->limited_by) result.limited_by = words(*made->limited_by);
    result.sentence = made->sentence;
    result.reasons = made->reasons;
  }
  for (const trial::Trial& trial : found.trials)
    result.trials.push_back(public_trial(trial, found.trials, found.facts));
  result.resumed_trials = static_cast<int>(found.resumed);
  result.spent = found.spent;
  const report::Answer whole = reported(found, workload, study);
  result.table = report::table(whole);
  result.json = report::json(whole).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return result;
}

}  // namespace sweetspot::api
