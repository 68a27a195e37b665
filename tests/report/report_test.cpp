#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/error.h"
#include "rendered.h"
#include "report/charts/plot.h"
#include "report/fields.h"
#include "report/formats.h"
#include "report/made_answer.h"
#include "report/speeds.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using tests::Cells;
using tests::cells_of;
using tests::column_of;
using tests::found_in;
using tests::made_trial;
using tests::TemporaryFolder;

// A tune's, and what a sweep has of the same trials.
ShownStudy tuned() {
  const std::vector<std::int64_t> batches{1024, 1, 128};
  ShownStudy answer;
  answer.number = "7";
  answer.workload = "paper-cnn on mnist";
  answer.answer.end = trial::End::found;
  answer.trials = tests::made_trials(batches, 0.002, 1e-4);
  answer.facts.limits.max = 60000;
  answer.answer.content = *recommend(
      answer.trials, tests::made_decision({1, 128, 1024}, 0.002, 1e-4, 128), answer.facts);
  tests::made_in(answer).command = "sweetspot train --batch 128";
  answer.environment_json = R"({"cpu": "none"})";
  return answer;
}
ShownStudy swept() {
  ShownStudy answer = tuned();
  answer.answer.content = {};
  return answer;
}

trial::Trial failed(std::int64_t batch, const std::string& note) {
  trial::Trial t;
  t.setting.batch = batch;
  t.outcome = trial::Outcome::crashed;
  t.note = note;
  return t;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

TEST(Fields, AreDeclaredOnceEach) {
  std::set<std::string> json, csv;
  for (const Field& field : fields()) {
    EXPECT_TRUE(json.insert(field.json).second) << field.json;
    EXPECT_TRUE(csv.insert(field.csv).second) << field.csv;
    EXPECT_EQ(field.show != Show::never, field.words != nullptr) << field.csv;
  }
}

TEST(Fields, StepsOfAClientAreReportsWhateverItsName) {
  trial::Trial t;
  t.steps = 2840, t.timings = 142;
  t.step_source = "client (crossbar)";
  EXPECT_EQ(counted_words(t), "2,840 in 142 reports");
  t.step_source = "tqdm bar";
  EXPECT_EQ(counted_words(t), "2,840 in 142 bar updates");
}

TEST(TrialTable, HasARowForEachTrialByBatch) {
  EXPECT_THAT(column_of(table(swept())), ElementsAre("1", "128", "1,024"));
  EXPECT_EQ(column_of(table(swept()), 1).front(), "476 ±1.0%");
  EXPECT_WORDS(table(swept()));
}

TEST(TrialTable, ShowsWhatVaries) {
  ShownStudy answer = swept();
  const Cells before = cells_of(table(answer)).front();
  answer.trials[0].setting.configuration.workers = 4;
  const Cells after = cells_of(table(answer)).front();
  EXPECT_EQ(after.size(), before.size() + 1);
  EXPECT_THAT(before, Not(Contains("workers")));
  EXPECT_THAT(after, Contains("workers"));
}

TEST(TrialTable, ShowsHowFarAnIntervalReachesOnEitherSide) {
  ShownStudy answer = swept();
  answer.trials[0].samples_per_second = trial::Interval{1000, 970, 1120};
  EXPECT_EQ(column_of(table(answer), 1).back(), "1,000 +12/−3.0%");
}

TEST(TrialTable, ShowsFailuresAndTheUnknown) {
  ShownStudy answer = swept();
  answer.trials.push_back(failed(4, "a | b\n"));
  const Cells row = cells_of(table(answer))[2];
  EXPECT_EQ(row.at(0), "4");
  EXPECT_EQ(row.at(1), "–");
  EXPECT_EQ(row.back(), "crashed: a \\| b\\x0a");
}

TEST(TrialTable, CutsNotesOfAnyLength) {
  ShownStudy answer = swept();
  answer.trials.push_back(failed(4, std::string(1000, 'x')));
  for (const std::string& line : lines(table(answer))) EXPECT_LT(line.size(), 200u);
}

TEST(AnswerTable, HasARowForEachBatch) {
  ShownStudy answer = tuned();
  answer.trials.push_back(answer.trials[0]);
  advise::BatchRow failure;
  failure.batch = 4096, failure.outcome = trial::Outcome::out_of_memory, failure.note = "why";
  tests::made_in(answer).rows.push_back(failure);
  EXPECT_THAT(column_of(table(answer)), ElementsAre("1", "128", "1,024", "4,096"));
  EXPECT_THAT(column_of(table(answer), 1), ElementsAre("476", "8,650", "9,810", ""));
  EXPECT_WORDS(table(answer));
}

TEST(Csv, FollowsRfc4180) {
  ShownStudy answer = swept();
  answer.trials = {failed(4, "said \"no\", twice")};
  const std::string text = csv(answer);
  EXPECT_THAT(text, StartsWith("batch,micro_batch,"));
  EXPECT_THAT(text, testing::EndsWith("\r\n"));
  EXPECT_THAT(text, HasSubstr(",\"said \"\"no\"\", twice\","));
  EXPECT_THAT(text, HasSubstr("crashed,,,,,"));  // unknown is empty
}

TEST(Csv, DisarmsFormulas) {
  ShownStudy answer = swept();
  for (const char* note : {"=1+1", "+1", "-1", "@x"}) {
    answer.trials = {failed(4, note)};
    EXPECT_THAT(csv(answer), HasSubstr(std::string(",'") + note + ","));
  }
}

TEST(Csv, HasAsManyCellsAsColumns) {
  for (const std::string& line : lines(csv(swept())))
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), static_cast<long>(fields().size()) - 1);
}

TEST(Json, HasTheFormOfTheDesign) {
  const auto json = report::json(tuned());
  EXPECT_EQ(json.begin().key(), "schema_version");
  EXPECT_EQ(json["schema_version"], 2);
  EXPECT_EQ(json["status"], "found");
  EXPECT_TRUE(json["measured"].is_null()) << "one answer is enough";
  EXPECT_EQ(json["recommendation"]["rows"].size(), 3u);
  EXPECT_EQ(json["recommendation"]["batch"], 128);
  EXPECT_EQ(json["recommendation"]["command"], "sweetspot train --batch 128");
  ASSERT_EQ(json["trials"].size(), 3u);
  const auto& trial = json["trials"][1];
  EXPECT_EQ(trial["setting"]["batch"], 128);
  EXPECT_EQ(trial["outcome"], "ok");
  EXPECT_EQ(trial["stop_reason"], "precise");
  EXPECT_NEAR(trial["samples_per_second"]["mean"].get<double>(), 128 / 0.0148, 1e-6);
  EXPECT_NEAR(trial["step_seconds"]["median"].get<double>(), 0.0148, 1e-12);
  EXPECT_EQ(trial["memory_bytes"]["predicted"], 1128000);
  EXPECT_NEAR(trial["phases"]["backward"].get<double>(), 0.6, 1e-9);
  EXPECT_EQ(json["cost"]["trials"], 3);
  EXPECT_EQ(json["cost"]["out_of_memory"], 0);
  EXPECT_EQ(json["environment"]["cpu"], "none");
}

TEST(Json, EveryRowNamesTheTrialsItRestsOn) {
  ShownStudy answer = tuned();
  answer.trials.push_back(answer.trials[1]);  // batch 1 once more
  answer.trials.push_back(answer.trials[0]);
  answer.trials.back().setting.configuration.workers += 1;  // of another loader
  const auto json = report::json(answer);
  const auto& rows = json["recommendation"]["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["trials"], nlohmann::ordered_json::array({2, 4}));
  EXPECT_EQ(rows[1]["trials"], nlohmann::ordered_json::array({3}));
  EXPECT_EQ(rows[2]["trials"], nlohmann::ordered_json::array({1}));
}

TEST(Json, UnknownIsNull) {
  ShownStudy answer = swept();
  answer.trials = {failed(4, "")};
  const auto json = report::json(answer);
  EXPECT_TRUE(json["recommendation"].is_null());
  EXPECT_TRUE(json["measured"].is_null());
  EXPECT_TRUE(json["trials"][0]["samples_per_second"]["mean"].is_null());
  EXPECT_TRUE(json["trials"][0]["memory_bytes"]["measured"].is_null());
  EXPECT_TRUE(json["trials"][0]["note"].is_null());
}

TEST(Json, HasEpochsAndTheTraceWhereThereAreSome) {
  ShownStudy answer = swept();
  trial::Trial trained = made_trial(8, 0.002, 1e-4);
  trained.device = "cuda:0";
  trained.setting.seed = 0xffffffffffffffff;
  trained.energy_joules = 12.5, trained.energy_samples = 50;
  trained.losses = {{1, 2.5}, {10, 1.25}};
  trained.memory_by_use = core::MemoryByUse{{10, 20, 30, 40, 50, 60}};
  trained.epochs = {{1, 2.5, 0.5, 0.75, {}, 0.875}};
  trained.trace = {{0.25, 0.5, 1024, {}}};
  trained.memory_capacity = 99;
  trained.gpus = {{"cuda:0", "NVIDIA H200", 21, {}, "NVML", 0.5, {}, 7.5, {}}};
  answer.trials = {failed(4, ""), trained};
  const auto json = report::json(answer);
  const auto& none = json["trials"][0];
  EXPECT_EQ(none["device"], "cpu");
  EXPECT_TRUE(none["energy_joules"].is_null());
  EXPECT_EQ(none["epochs"], nlohmann::json::array());
  EXPECT_FALSE(none.contains("trace"));
  const auto& some = json["trials"][1];
  EXPECT_EQ(some["device"], "cuda:0");
  EXPECT_EQ(some["setting"]["seed"], 0xffffffffffffffff);
  EXPECT_EQ(some["energy_joules"], 12.5);
  EXPECT_EQ(none["gpus"], nlohmann::json::array());
  EXPECT_TRUE(none["memory_bytes"]["capacity"].is_null());
  EXPECT_EQ(some["memory_bytes"]["capacity"], 99);
  EXPECT_EQ(some["gpus"].dump(),
            R"([{"device":"cuda:0","name":"NVIDIA H200","memory_peak_bytes":21,)"
            R"("memory_free_bytes":null,"memory_source":"NVML","utilisation_share":0.5,)"
            R"("power_watts":null,"energy_joules":7.5,"core_clock_mhz":null}])");
  EXPECT_EQ(some["joules_per_sample"], 0.25);
  EXPECT_TRUE(none["joules_per_sample"].is_null());
  EXPECT_EQ(some["loss"]["value"], 1.25);
  EXPECT_EQ(some["loss"]["step"], 10);
  EXPECT_TRUE(none["loss"]["value"].is_null());
  EXPECT_TRUE(none["memory_bytes"]["by_use"]["weights"].is_null());
  EXPECT_EQ(some["memory_bytes"]["by_use"]["weights"], 10);
  EXPECT_EQ(some["memory_bytes"]["by_use"]["input"], 60);
  EXPECT_EQ(some["epochs"].dump(),
            R"([{"epoch":1,"train_seconds":2.5,"train_loss":0.5,"train_accuracy":0.75,)"
            R"("test_loss":null,"test_accuracy":0.875,"noise_scale_samples":null}])");
  EXPECT_EQ(some["trace"].dump(),
            R"([{"at_seconds":0.25,"utilisation_share":0.5,"memory_bytes":1024,)"
            R"("power_watts":null}])");
  EXPECT_THAT(csv(answer), HasSubstr(",18446744073709551615,,cuda:0,"));
  EXPECT_THAT(cells_of(table(answer)).at(2), Contains("cuda:0"));
}

TEST(Measured, TheKneeIsTheSmallestWithinTheTolerance) {
  ShownStudy answer = swept();
  answer.facts.limits.tolerance = 0.15;
  const auto found = measured(answer);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best_batch, 1024);
  EXPECT_EQ(found->knee_batch, 128);
  answer.facts.limits.tolerance = 0.05;
  EXPECT_EQ(measured(answer)->knee_batch, 1024);
}

TEST(Measured, RepeatsCountTogether) {
  ShownStudy answer = swept();
  answer.trials = {made_trial(10, 0, 1e-3), made_trial(10, 0, 1e-3), made_trial(20, 0, 1.02e-3)};
  answer.trials[1].samples_per_second = trial::Interval{500, 495, 505};  // one of the two was slow
  EXPECT_EQ(measured(answer)->best_batch, 20);
}

TEST(Measured, PrecisionsAreNotMixed) {
  ShownStudy answer = swept();
  answer.trials = {made_trial(10, 0, 1e-3), made_trial(10, 0, 1e-4), made_trial(20, 0, 2e-4)};
  answer.trials[1].setting.configuration.precision = "bf16";
  EXPECT_EQ(measured(answer)->best_batch, 10);
  EXPECT_NEAR(measured(answer)->best_samples_per_second, 10'000, 100);
}

TEST(Measured, WithARecommendationIsWhatThatSays) {
  ShownStudy answer = tuned();
  for (trial::Trial& t : answer.trials) t.samples_per_second->mean *= 3;
  const auto found = measured(answer);
  EXPECT_EQ(found->best_batch, 1024);
  EXPECT_EQ(found->knee_batch, 128);
  EXPECT_EQ(found->knee_samples_per_second, answer.recommendation()->samples_per_second);
}

TEST(Measured, OfALargeGridTakesNoTime) {
  ShownStudy answer = swept();
  answer.trials.clear();
  for (std::int64_t batch = 16; batch <= 4096; batch += 16)
    answer.trials.push_back(made_trial(batch, 0.002, 1e-4));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(measured(answer)->best_batch, 4096);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(Markdown, SaysThatASweepWasMeasuredBesideOtherWork) {
  const std::vector<std::string> busy{std::string(advise::measured_while_busy)};
  ShownStudy answer = swept();
  EXPECT_WORDS(markdown(answer));
  answer.trials.push_back(answer.trials[0]);
  answer.trials[0].contention.contended = true;
  EXPECT_THAT(found_in(markdown(answer), busy), IsEmpty());  // the other one tells
  answer.trials.back().contention.contended = true;
  EXPECT_EQ(found_in(markdown(answer), busy), busy);
}

TEST(Markdown, HasEverything) { EXPECT_WORDS(markdown(tuned())); }

TEST(Plot, IsAsWideAndHighAsAskedAndMarksTheChosen) {
  const std::string text = plot(tuned(), {60, 13, true});
  EXPECT_EQ(lines(text).size(), 13u);
  EXPECT_WORDS(text);
}

TEST(Plot, IsPlainAsciiWhereAsked) {
  const std::string text = plot(tuned(), {60, 13, false});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > 0; })) << text;
  for (const std::string& line : lines(text)) EXPECT_LE(line.size(), 60u);
  EXPECT_WORDS(text);
}

TEST(Plot, NeedsTwoBatchesAndSomeRoom) {
  ShownStudy one = swept();
  one.trials = {made_trial(8, 0.002, 1e-4), failed(9, "")};
  EXPECT_EQ(plot(one, {}), "");
  EXPECT_EQ(plot(tuned(), {10, 13, true}), "");
  EXPECT_EQ(plot(tuned(), {60, 2, true}), "");
}

TEST(WriteFile, ReplacesTheFileWholeAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  write_file(folder / "a.csv", "old and longer");
  write_file(folder / "a.csv", "new");
  std::ostringstream text;
  text << std::ifstream(folder / "a.csv").rdbuf();
  EXPECT_EQ(text.str(), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(write_file(folder / "none/a.csv", "x"), core::MachineError);
  EXPECT_THROW(write_file("/dev/full", "x"), core::MachineError);
}

TEST(WriteFile, IsCheckedBeforehand) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(check_can_write(folder / "a.csv", "--export-csv"));
  EXPECT_NO_THROW(check_can_write("a.csv", "--export-csv"));
  EXPECT_NO_THROW(check_can_write("/dev/null", "--export-csv"));
  EXPECT_THROW(check_can_write(folder / "none/a.csv", "--export-csv"), core::InputError);
  EXPECT_THROW(check_can_write(folder.path(), "--export-csv"), core::InputError);
}

}  // namespace
}  // namespace sweetspot::report
