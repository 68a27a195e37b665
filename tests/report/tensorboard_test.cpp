#include "report/exports/tensorboard/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "advise/trials.h"
#include "report/exports/tensorboard/event_file.h"
#include "report/tensorboard_reader.h"
#include "temporary_folder.h"

namespace sweetspot::report::tensorboard {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using tests::Fields;
using tests::made_trial;

trial::Trial full_trial() {
  trial::Trial trial = made_trial(128, 0.002, 1e-4);
  trial.id = 12;
  trial.started_at = 1.7e9, trial.seconds = 20;
  trial.setting.configuration.precision = "bf16";
  trial.raw.resize(2);
  trial.raw[0].seconds = 0.5, trial.raw[0].warm_up = true;
  trial.raw[1].seconds = 0.5, trial.raw[1].updates = 2;
  trial.epochs.resize(2);
  trial.epochs[0].test_accuracy = 0.9;
  trial.epochs[1].epoch = 2, trial.epochs[1].test_accuracy = 0.95;
  trial.trace.resize(1);
  trial.trace[0].at_seconds = 1.5, trial.trace[0].utilisation_share = 0.75;
  return trial;
}

std::vector<tests::Scalar> scalars(const std::string& bytes, const std::string& tag) {
  std::vector<tests::Scalar> found;
  for (const tests::Scalar& scalar : tests::read_events(bytes).scalars)
    if (scalar.tag == tag) found.push_back(scalar);
  return found;
}

TEST(Crc32c, GivesThePublishedValues) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(TensorBoard, ATrialsScalarsAreItsResultsStepsEpochsAndReadings) {
  const trial::Trial trial = full_trial();
  const std::string bytes = trial_events(trial);
  EXPECT_EQ(tests::read_events(bytes).version, "brain.Event:2");
  const auto speed = scalars(bytes, "samples_per_second");
  ASSERT_EQ(speed.size(), 1u);
  EXPECT_FLOAT_EQ(speed[0].value, static_cast<float>(trial.samples_per_second->mean));
  EXPECT_EQ(speed[0].wall_time, 1.7e9 + 20);
  EXPECT_EQ(scalars(bytes, "test_accuracy").at(0).value, 0.95f);
  EXPECT_EQ(scalars(bytes, "step/warm_up_seconds").size(), 1u);
  const auto steps = scalars(bytes, "step/seconds");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, 2);
  EXPECT_EQ(steps[0].value, 0.25f);  // of one update
  const auto accuracy = scalars(bytes, "epoch/test_accuracy");
  ASSERT_EQ(accuracy.size(), 2u);
  EXPECT_EQ(accuracy[1].step, 2);
  EXPECT_TRUE(scalars(bytes, "epoch/train_loss").empty());  // unknown is not zero
  EXPECT_EQ(scalars(bytes, "device/utilisation_share").at(0).step, 1500);
  EXPECT_TRUE(scalars(bytes, "device/memory_bytes").empty());
}

TEST(TensorBoard, ATrialIsASessionOfTheHParamsView) {
  const auto events = tests::read_events(trial_events(full_trial()));
  const Fields start(events.hparams.at("_hparams_/session_start_info").message(3));
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
  for (const std::string& bytes : start.all(1)) {
    const Fields entry(bytes), value(entry.message(2));
    if (value.has(3)) texts[entry.text(1)] = value.text(3);
    if (value.has(2)) numbers[entry.text(1)] = value.number(2);
  }
  EXPECT_THAT(texts,
              ElementsAre(testing::Pair("device", "cpu"), testing::Pair("precision", "bf16")));
  EXPECT_EQ(numbers.at("batch"), 128);
  EXPECT_EQ(numbers.at("learning_rate"), 0.001);
  EXPECT_EQ(numbers.at("seed"), 1000);
  EXPECT_EQ(numbers.size(), 5u);
  const Fields end(events.hparams.at("_hparams_/session_end_info").message(4));
  EXPECT_EQ(end.whole(1), 1u);  // success
  EXPECT_EQ(end.number(2), 1.7e9 + 20);

  trial::Trial failed;
  failed.outcome = trial::Outcome::crashed;
  const auto bad = tests::read_events(trial_events(failed));
  EXPECT_EQ(Fields(bad.hparams.at("_hparams_/session_end_info").message(4)).whole(1), 2u);
  EXPECT_TRUE(bad.scalars.empty());
}

TEST(TensorBoard, TrialsOfOneSettingAreOneGroup) {
  const auto group = [](const trial::Trial& trial) {
    const auto events = tests::read_events(trial_events(trial));
    return Fields(events.hparams.at("_hparams_/session_start_info").message(3)).text(4);
  };
  trial::Trial again = full_trial(), other = again;
  again.id = 13, again.started_at += 60;
  other.setting.seed = 1001;
  EXPECT_EQ(group(full_trial()), group(again));
  EXPECT_NE(group(full_trial()), group(other));
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder).string());
  return files;
}

TEST(TensorBoard, AStudyIsAFolderWithARunForEachTrial) {
  const tests::TemporaryFolder folder;
  ShownStudy answer;
  answer.number = "../7";  // of a store that might be anybody's
  answer.workload = "evil \xff\x1b[31m";
  answer.trials = {full_trial(), full_trial()};
  answer.trials[1].setting.batch = 256, answer.trials[1].id = 13;
  for (int times = 0; times < 2; ++times) EXPECT_EQ(write(folder.path(), answer), 2u);
  const std::string file = "events.out.tfevents.1700000000.sweetspot";
  EXPECT_THAT(files_below(folder.path()),
              UnorderedElementsAre("study-7/" + file, "study-7/batch-128-trial-12/" + file,
                                   "study-7/batch-256-trial-13/" + file));
  std::ifstream in(folder / "study-7" / file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const Fields experiment(tests::read_events(bytes).hparams.at("_hparams_/experiment").message(2));
  EXPECT_THAT(experiment.text(1), testing::HasSubstr("evil"));
  EXPECT_EQ(experiment.all(4).size(), 7u);
  EXPECT_EQ(experiment.all(5).size(), 6u);
  const Fields batch(experiment.all(4).front()), domain(batch.message(6));
  EXPECT_EQ(batch.text(1), "batch");
  EXPECT_EQ(domain.number(1), 128);
  EXPECT_EQ(domain.number(2), 256);
}

TEST(TensorBoard, NumbersOfAForeignStoreDoNoHarm) {
  trial::Trial trial = full_trial();
  trial.started_at = std::nan("");
  trial.trace[0].at_seconds = INFINITY, trial.trace[0].power_watts = NAN;
  trial.raw[0].seconds = INFINITY;
  const tests::TemporaryFolder folder;
  ShownStudy answer;
  answer.number = "1";
  answer.trials = {trial};
  EXPECT_EQ(write(folder.path(), answer), 1u);
  EXPECT_TRUE(fs::exists(folder / "study-1" / "events.out.tfevents.0000000000.sweetspot"));
}

}  // namespace
}  // namespace sweetspot::report::tensorboard
