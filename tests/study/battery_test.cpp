#include "study/battery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace sweetspot::study {
namespace {

TEST(Battery, FiveHundredRandomWorkloads) {
  int good = 0, small_enough = 0, within_bounds = 0, launches_above_cap = 0;
  std::vector<double> regrets;
  std::vector<std::size_t> batches;
  for (std::uint32_t number = 0; number < 500; ++number) {
    const Question question = draw_question(number);
    const Verdict verdict = tune_for(question);
    launches_above_cap += question.linear_memory && verdict.above_cap;
    if (!verdict.recommendation) continue;
    const auto& made = *verdict.recommendation;
    regrets.push_back(1 - verdict.share_of_best);
    batches.push_back(verdict.batches);
    good += verdict.share_of_best >= 0.94;
    small_enough += verdict.smaller_share < 0.96;
    within_bounds += verdict.true_knee >= made.knee_low && verdict.true_knee <= made.knee_high;
    if (std::getenv("SWEETSPOT_BATTERY_VERBOSE") &&
        (verdict.share_of_best < 0.94 || verdict.smaller_share >= 0.96 ||
         verdict.true_knee < made.knee_low || verdict.true_knee > made.knee_high))
      std::printf("%u: %s answer %ld knee %ld [%ld, %ld] best %ld/%ld share %.3f smaller %.3f "
                  "noise %.3f nb %.2fx%.2f run %.3f batches %zu\n",
                  number, question.machine.side_by_side ? "rounds" : "passes", made.batch,
                  verdict.true_knee, made.knee_low, made.knee_high, verdict.true_best,
                  made.best_batch, verdict.share_of_best, verdict.smaller_share,
                  question.machine.noise_share, question.machine.neighbour_share,
                  question.machine.neighbour_slowdown, question.machine.run_deviation,
                  verdict.batches);
  }
  std::ranges::sort(regrets);
  std::ranges::sort(batches);
  RecordProperty("good", good);
  RecordProperty("small_enough", small_enough);
  RecordProperty("within_bounds", within_bounds);
  RecordProperty("regret_95", std::to_string(regrets[regrets.size() * 95 / 100]));
  RecordProperty("median_batches", static_cast<int>(batches[batches.size() / 2]));
  std::printf("good %d small_enough %d within %d regret95 %.3f batches %zu of %zu\n", good,
              small_enough, within_bounds, regrets[regrets.size() * 95 / 100],
              batches[batches.size() / 2], regrets.size());
  EXPECT_EQ(launches_above_cap, 0);
}

}  // namespace
}  // namespace sweetspot::study
