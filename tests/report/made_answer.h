#pragma once
#include "advise/made.h"
#include "report/shown_study.h"

namespace sweetspot::tests {

// Its recommendation, to change it.
inline advise::Recommendation& made_in(report::ShownStudy& study) {
  return std::get<advise::Recommendation>(study.answer.content);
}

// What a tune of a step of 206 µs + 48 µs a sample answers.
inline report::ShownStudy made_answer(const std::vector<std::int64_t>& batches, std::int64_t chosen,
                                      advise::Facts facts = {}) {
  report::ShownStudy answer;
  answer.number = "1", answer.workload = "paper-cnn on mnist",
  answer.answer.end = trial::End::found;
  answer.trials = made_trials(batches, 206e-6, 48e-6);
  search::Decision decision = made_decision(batches, 206e-6, 48e-6, chosen);
  decision.alike_low = std::max<std::int64_t>(1, chosen / 2), decision.alike_high = 2 * chosen;
  decision.knee_low = decision.alike_low, decision.knee_high = chosen;
  decision.regret = 0.01;
  facts.limits.max = 60000;
  answer.answer.content = *recommend(answer.trials, decision, facts);
  tests::made_in(answer).command = "sweetspot train --batch " + std::to_string(chosen);
  answer.facts = std::move(facts);
  answer.environment_json = "{}";
  return answer;
}

}  // namespace sweetspot::tests
