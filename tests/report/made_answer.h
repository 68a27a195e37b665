#pragma once
#include "advise/made.h"
#include "report/answer.h"

namespace sweetspot::tests {

// What a tune of a step of 206 µs + 48 µs a sample answers.
inline report::Answer made_answer(const std::vector<std::int64_t>& batches, std::int64_t chosen,
                                  advise::Facts facts = {}) {
  report::Answer answer;
  answer.study = "1", answer.workload = "paper-cnn on mnist", answer.status = "found";
  answer.trials = made_trials(batches, 206e-6, 48e-6);
  search::Decision decision = made_decision(batches, 206e-6, 48e-6, chosen);
  decision.alike_low = std::max<std::int64_t>(1, chosen / 2), decision.alike_high = 2 * chosen;
  decision.knee_low = decision.alike_low, decision.knee_high = chosen;
  decision.regret = 0.01;
  facts.limits.max = 60000;
  answer.recommendation = recommend(answer.trials, decision, facts);
  answer.recommendation->command = "sweetspot train --batch " + std::to_string(chosen);
  answer.facts = std::move(facts);
  answer.environment_json = "{}";
  return answer;
}

}  // namespace sweetspot::tests
