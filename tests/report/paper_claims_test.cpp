// Each claim on made-up numbers, so that it holds and so that it does not.
#include "report/paper/paper_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/paper_made.h"
#include "words.h"

namespace sweetspot::report::paper {
namespace {

using testing::IsEmpty;

Claim find(const std::vector<Claim>& claims, const std::string& id) {
  for (const Claim& claim : claims)
    if (claim.id == id) return claim;
  ADD_FAILURE() << "there is no claim " << id;
  return {};
}

Claim judged(const std::string& id, const std::vector<Made>& devices) {
  return find(judge(made_experiment(devices)), id);
}
Verdict verdict(const std::string& id, const std::vector<Made>& devices) {
  return judged(id, devices).verdict;
}

TEST(Between, TellsWhatTheIntervalTells) {
  EXPECT_EQ(between({1, 0.9, 1.1}, 0.8, 1.2), Verdict::holds);
  EXPECT_EQ(between({1, 0.9, 1.1}, 1.2, 2), Verdict::does_not_hold);
  EXPECT_EQ(between({1, 0.9, 1.1}, 0, 0.5), Verdict::does_not_hold);
  EXPECT_EQ(between({1, 0.9, 1.1}, 1.05, 2), Verdict::undecided);
}

TEST(Claims, TimeIsFlatOnACpu) {
  EXPECT_EQ(verdict("cpu-flat", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("cpu-flat", {{.fixed_seconds = 0.01}}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("cpu-flat", {{.fixed_seconds = 0.0012, .noise_share = 0.3}}),
            Verdict::undecided);
}

TEST(Claims, EvidenceHasNumbersAndIntervals) {
  EXPECT_WORDS(judged("cpu-flat", {{.noise_share = 0}}).evidence);
}

TEST(Claims, TimeFallsOnAGpuUntilAbout800) {
  EXPECT_EQ(verdict("gpu-falls", {slow_launches()}), Verdict::holds);
  EXPECT_EQ(verdict("gpu-falls", {quick_launches()}), Verdict::does_not_hold);
  // Flat from 800 on, and flat from 300 on.
  const auto until = [](std::int64_t flat_from) {
    Experiment experiment = made_experiment({slow_launches()});
    for (trial::Trial& trial : experiment.devices[0].trials)
      for (trial::Epoch& epoch : trial.epochs)
        epoch.train_seconds =
            1000.0 / static_cast<double>(std::min(trial.setting.batch, flat_from));
    return find(judge(experiment), "gpu-until-800");
  };
  EXPECT_EQ(until(800).verdict, Verdict::holds);
  EXPECT_WORDS(until(800).evidence);
  EXPECT_EQ(until(300).verdict, Verdict::does_not_hold);
  EXPECT_EQ(
      find(judge(made_experiment({slow_launches()}, {100, 500, 1000})), "gpu-until-800").verdict,
      Verdict::not_tested);
}

TEST(Claims, NothingImprovesOnTheClustersGpu) {
  EXPECT_EQ(verdict("cluster-gpu-flat", {quick_launches()}), Verdict::holds);
  EXPECT_EQ(verdict("cluster-gpu-flat", {slow_launches()}), Verdict::does_not_hold);
}

TEST(Claims, TimeIsLinearInEpochs) {
  EXPECT_EQ(verdict("cpu-linear", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("cpu-linear", {{.first_epoch_factor = 2}}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("gpu-linear", {slow_launches()}), Verdict::holds);
  EXPECT_EQ(verdict("gpu-linear", {{}}), Verdict::not_tested);
}

TEST(Claims, FiveEpochsAt1000AreFasterThanOneAt100) {
  EXPECT_EQ(verdict("five-at-1000", {slow_launches()}), Verdict::holds);
  EXPECT_EQ(verdict("five-at-1000", {quick_launches()}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("five-at-1000", {{}}), Verdict::not_tested);
}

TEST(Claims, ACpuTakesMuchLonger) {
  EXPECT_EQ(verdict("cpu-slower", {{}, quick_launches()}), Verdict::holds);
  Made slow_gpu = slow_launches();
  slow_gpu.sample_seconds = 1e-4;
  EXPECT_EQ(verdict("cpu-slower", {{}, slow_gpu}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("cpu-slower", {slow_launches()}), Verdict::not_tested);
}

TEST(Claims, AccuracyFallsWithTheBatchAndRecovers) {
  EXPECT_EQ(verdict("accuracy-falls", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("accuracy-falls", {{.lost_at_thousand = -0.01, .seeds = 3}}),
            Verdict::does_not_hold);
  EXPECT_EQ(verdict("accuracy-falls", {{.lost_at_thousand = 0.001}}), Verdict::undecided);
  EXPECT_EQ(verdict("accuracy-recovers", {{.lost_at_thousand = 0.06}}), Verdict::holds);
  EXPECT_EQ(verdict("accuracy-recovers", {{.left_share = 1}}), Verdict::does_not_hold);
}

TEST(Claims, AccuracyStaysAboveAndComesNear) {
  EXPECT_EQ(verdict("above-90", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("above-90", {{.lost_at_thousand = 0.2}}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("above-94", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("above-94", {{.lost_at_thousand = 0.1}}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("near-99", {{}}), Verdict::holds);
  EXPECT_EQ(verdict("near-99", {{.left_share = 0.9}}), Verdict::does_not_hold);
  EXPECT_EQ(verdict("near-99", {{.epochs = 4}}), Verdict::not_tested);
}

TEST(Claims, UtilisationRisesWithTheBatch) {
  EXPECT_EQ(verdict("utilisation-rises", {slow_launches()}), Verdict::holds);
  EXPECT_EQ(verdict("utilisation-rises", {quick_launches()}), Verdict::does_not_hold);
  Experiment blind = made_experiment({slow_launches()});
  for (trial::Trial& trial : blind.devices[0].trials) trial.trace.clear();
  EXPECT_EQ(find(judge(blind), "utilisation-rises").verdict, Verdict::not_tested);
}

TEST(Claims, WhatTheEngineBrokeByRemovingOverheadIsSaidAndShown) {
  for (const char* id : {"gpu-falls", "five-at-1000", "utilisation-rises"}) {
    const Claim claim = judged(id, {quick_launches()});
    EXPECT_EQ(claim.verdict, Verdict::does_not_hold) << id;
    EXPECT_WORDS(claim.overhead);
  }
  EXPECT_THAT(judged("five-at-1000", {slow_launches()}).overhead, IsEmpty());
  // A claim that fails for another reason is not excused.
  EXPECT_THAT(judged("near-99", {{.left_share = 0.9}}).overhead, IsEmpty());
}

TEST(Claims, WithoutAGpuSayWhyTheyWereNotTested) {
  const auto claims = judge(made_experiment({{}}));
  for (const Claim& claim : claims)
    if (claim.verdict == Verdict::not_tested) {
      EXPECT_FALSE(claim.evidence.empty()) << claim.id;
    }
  EXPECT_EQ(find(claims, "gpu-falls").evidence, "no GPU can be used here");
}

TEST(Claims, OfNothingAreNotTested) {
  for (const Claim& claim : judge(made_experiment({{}, slow_launches()}, {})))
    EXPECT_EQ(claim.verdict, Verdict::not_tested) << claim.id;
}

TEST(Claims, FailedTrialsHaveNoPart) {
  Experiment experiment = made_experiment({{}});
  for (trial::Trial& trial : experiment.devices[0].trials)
    if (trial.setting.batch != 100) trial.outcome = trial::Outcome::out_of_memory;
  EXPECT_EQ(find(judge(experiment), "cpu-flat").verdict, Verdict::not_tested);
}

}  // namespace
}  // namespace sweetspot::report::paper
