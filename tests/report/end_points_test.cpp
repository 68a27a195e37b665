#include "report/end_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rendered.h"
#include "report/critical_batch.h"
#include "report/paper/paper_claims.h"
#include "report/table.h"
#include "words.h"

namespace sweetspot::report {
namespace {

trial::Trial ended(std::int64_t batch, std::uint64_t seed, double sharpness, double train_loss,
                   double test_loss) {
  trial::Trial trial;
  trial.setting.batch = batch, trial.setting.seed = seed;
  trial.sharpness = sharpness, trial.end_train_loss = train_loss;
  trial::Epoch epoch;
  epoch.test_loss = test_loss;
  trial.epochs = {epoch};
  return trial;
}

std::vector<trial::Trial> three_seeds() {
  return {ended(512, 1, 40, 0.02, 0.050), ended(32, 1, 10, 0.01, 0.041),
          ended(32, 2, 11, 0.01, 0.040),  ended(512, 2, 42, 0.02, 0.051),
          ended(32, 3, 12, 0.01, 0.039),  ended(512, 3, 44, 0.02, 0.049)};
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(EndPoints, FitATerminal) {
  std::vector<trial::Trial> trials;
  for (const std::uint64_t seed : {1, 2}) {
    const double off = 1.0001 + 0.0123 * static_cast<double>(seed);
    trials.push_back(ended(65536, seed, 1234.5 * off, 0.35321 * off, 0.352412 / off));
    trials.push_back(ended(1024, seed, 12.345 * off, 0.0012345 * off, 0.010042 / off));
  }
  EXPECT_LE(widest_line(end_point_table(trials)), 80u);
  EXPECT_THAT(end_point_table(trials), testing::Not(testing::HasSubstr("rate |")));
  trials.back().setting.learning_rate *= 2;
  EXPECT_THAT(end_point_table(trials), testing::HasSubstr("rate |"));
}

TEST(EndPoints, GatherTheSeedsOfABatch) {
  std::vector<trial::Trial> trials = three_seeds();
  trials.push_back(trials[0]);
  trials.back().sharpness.reset();  // its end was not looked at
  const auto rows = end_point_rows(trials);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].setting.batch, 32);
  EXPECT_EQ(rows[0].sharpness, (std::vector<double>{10, 11, 12}));
  EXPECT_NEAR(rows[1].gap[0], 0.03, 1e-12);
  EXPECT_THAT(tests::column_of(end_point_table(trials)), testing::ElementsAre("32", "512"));
  EXPECT_WORDS(end_point_table(trials));
  const auto json = end_point_json(trials);
  EXPECT_EQ(json[0]["sharpness"]["mean"], 11);
  EXPECT_LT(json[0]["sharpness"]["low"], 11);
  EXPECT_EQ(end_point_table({}), "");
}

TEST(SharpMinima, AreJudgedByTheIntervalsOverSeeds) {
  using paper::Verdict;
  paper::Device cpu;
  cpu.name = "cpu";
  EXPECT_TRUE(paper::sharp_minima(cpu).empty());
  cpu.trials = three_seeds();
  auto claims = paper::sharp_minima(cpu);
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].verdict, Verdict::holds);
  EXPECT_EQ(claims[1].verdict, Verdict::undecided) << "0.030 against 0.030";
  for (trial::Trial& trial : cpu.trials) trial.sharpness = 1000 / *trial.sharpness;
  EXPECT_EQ(paper::sharp_minima(cpu)[0].verdict, Verdict::does_not_hold);
  cpu.trials.resize(2);
  EXPECT_EQ(paper::sharp_minima(cpu)[0].verdict, Verdict::not_tested) << "one seed of each";
}

ShownStudy branches_answer() {
  ShownStudy answer;
  answer.number = "7", answer.workload = "net on data";
  auto& made = answer.answer.content.emplace<advise::CriticalBatchAnswer>();
  made.epochs = 1, made.samples = 15'360;
  return answer;
}

TEST(CriticalBatchAnswer, IsASentenceWithItsIntervalAndThePrediction) {
  ShownStudy answer = branches_answer();
  advise::CriticalBatchAnswer& made = std::get<advise::CriticalBatchAnswer>(answer.answer.content);
  made.noise_scale = stats::Interval{400, 350, 460};
  EXPECT_EQ(critical_batch_text(answer), "");
  EXPECT_TRUE(critical_batch_json(answer)["critical_batch"].is_null());
  std::vector<convergence::BranchLoss> branches;
  for (const std::uint64_t seed : {1, 2})
    for (const std::int64_t batch : {32, 64, 128})
      branches.push_back({batch, seed, batch == 128 ? 1.0 + 0.1 * static_cast<double>(seed) : 1.0});
  made.set_found(convergence::critical_batch(branches, 0.05));
  EXPECT_WORDS(critical_batch_text(answer));
  const auto json = critical_batch_json(answer);
  EXPECT_EQ(json.begin().key(), "schema_version");
  EXPECT_EQ(json["critical_batch"]["batch"], 64);
  EXPECT_EQ(json["branches"][2]["within_tolerance"], false);
}

TEST(CriticalBatchAnswer, OfTheSmallestOrTheLargestBatchIsSaidToBeABound) {
  const auto found = [](double rise, std::size_t width) {
    ShownStudy answer = branches_answer();
    std::vector<convergence::BranchLoss> branches;
    for (const std::uint64_t seed : {1, 2, 3})
      for (const std::int64_t batch : {32, 64, 4096})
        branches.push_back({batch, seed, 0.02 * std::pow(static_cast<double>(batch) / 32, rise)});
    std::get<advise::CriticalBatchAnswer>(answer.answer.content)
        .set_found(convergence::critical_batch(branches, 0.05));
    std::istringstream lines(critical_batch_text(answer));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width);
    return sentence(*answer.critical_batch(), answer.workload);
  };
  EXPECT_WORDS(found(0.5, 80));
  EXPECT_WORDS(found(0, 80));
  EXPECT_WORDS(found(2, 80));
}

}  // namespace
}  // namespace sweetspot::report
