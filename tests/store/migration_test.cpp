// Files of older schemas, kept as written, are read and continued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "core/error.h"
#include "store/store.h"
#include "store/support.h"
#include "store/unprivileged.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;

class Migration : public testing::Test {
 protected:
  Migration() {
    fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v1.db", file_);
  }
  TemporaryFolder folder_;
  fs::path file_ = folder_ / "v1.db";
};

void expect_v1(const std::vector<trial::Study>& studies) {
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0].id, 2);
  EXPECT_EQ(studies[0].environment.program, "sweetspot 0.1.0");
  EXPECT_EQ(studies[0].state, trial::StudyState::stopped) << "its process is long gone";
  EXPECT_EQ(studies[1].environment.program, "sweetspot 0.0.9");
  EXPECT_EQ(studies[1].environment.machine, "a CPU");
  EXPECT_EQ(studies[1].environment.json, R"({"cpu":"a CPU"})");
  EXPECT_EQ(studies[1].study_key.json, R"({"number":1})");
  EXPECT_EQ(studies[1].state, trial::StudyState::finished);
  EXPECT_EQ(studies[1].started_at, 1790000000.5);
  ASSERT_EQ(studies[1].trials.size(), 2u);
  EXPECT_EQ(studies[1].trials[1].setting.batch, 32);
  EXPECT_EQ(studies[1].trials[1].samples_per_second->mean, 32000);
}

TEST_F(Migration, AnOldFileIsReadInFull) {
  const auto store = store::open_store(file_.string());
  expect_v1(store->studies());
  const trial::Trial trial = store->study(1)->trials.at(0);
  ASSERT_EQ(trial.raw.size(), 3u);
  EXPECT_TRUE(trial.raw[0].warm_up);
  EXPECT_FALSE(trial.raw[1].warm_up);
  EXPECT_EQ(trial.raw[2].seconds, 0.003);
  EXPECT_EQ(trial.raw[2].samples, 16);
}

TEST_F(Migration, AnOldStudyIsResumed) {
  const auto store = store::open_store(file_.string());
  const auto writer = store->open_study(study_key(R"({"number":1})"), environment(), false);
  EXPECT_EQ(writer->study().id, 1);
  EXPECT_EQ(writer->study().trials.size(), 2u);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(2), full_trial());
  EXPECT_TRUE(store->remove(2));
}

TEST_F(Migration, EachTrialKnowsItsRun) {
  add(*store::open_store(file_.string())
           ->open_study(study_key(R"({"number":1})"), environment("sweetspot 9"), false),
      full_trial());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
  std::string programs;
  sqlite3_exec(
      database,
      "SELECT program FROM trial JOIN run ON run.id = trial.run WHERE trial.study = 1 ORDER BY "
      "trial.id",
      [](void* text, int, char** cells, char**) {
        *static_cast<std::string*>(text) += std::string(cells[0]) + ";";
        return 0;
      },
      &programs, nullptr);
  sqlite3_close(database);
  EXPECT_EQ(programs, "sweetspot 0.0.9;sweetspot 0.0.9;sweetspot 9;");
}

TEST_F(Migration, WhereItCannotBeWrittenThatIsSaid) {
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0555));
  const Unprivileged user;
  try {
    store::open_store(file_.string())->studies();
    FAIL() << "read without migrating";
  } catch (const core::InputError& error) {
    EXPECT_WORDS(error.what());
  }
}

// Written by the program itself before it stored trials of other programs.
TEST(MigrationFromVersion2, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v2.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v2.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 6u);
  EXPECT_EQ(old->trials[5].setting.batch, 64);
  EXPECT_EQ(old->trials[5].raw.size(), 76u);
  EXPECT_EQ(old->trials[5].step_source, "");
  EXPECT_EQ(old->trials[5].start_up_seconds, std::nullopt);
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(6), full_trial());
}

// Written by the program itself (a study of a fake workload, a sweep of a shell script) before
// trials had a device and epochs.
TEST(MigrationFromVersion3, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v3.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v3.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(2);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 2u);
  const trial::Trial& trial = old->trials[0];
  EXPECT_EQ(trial.setting.batch, 16);
  EXPECT_EQ(trial.step_source, "--steps-regex");
  EXPECT_EQ(trial.raw.size(), 11u);
  EXPECT_EQ(trial.cpu_seconds, 0.016002);
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_EQ(trial.contention.reason, "");
  EXPECT_EQ(trial.device, "cpu");
  EXPECT_EQ(trial.setting.seed, 1000u);
  EXPECT_EQ(trial.energy_joules, std::nullopt);
  EXPECT_TRUE(trial.epochs.empty());
  EXPECT_TRUE(trial.trace.empty());
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(2)->trials.at(2), full_trial());
}

// Written by the program itself (sweeps of a fake workload and of paper-cnn, with epochs) before
// trials had their memory by use.
TEST(MigrationFromVersion4, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v4.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v4.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(2);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 1u);
  const trial::Trial& trial = old->trials[0];
  EXPECT_EQ(trial.setting.batch, 64);
  EXPECT_EQ(trial.memory_measured, trial.memory_predicted);
  EXPECT_EQ(trial.memory_by_use, std::nullopt);
  EXPECT_EQ(trial.epochs.size(), 2u);
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(2)->trials.at(1), full_trial());
}

// Written by the program itself (a sweep of paper-cnn) before steps were flagged as disturbed.
TEST(MigrationFromVersion5, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v5.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v5.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 2u);
  const trial::Trial& trial = old->trials[1];
  EXPECT_EQ(trial.setting.batch, 16);
  EXPECT_TRUE(trial.memory_by_use);
  EXPECT_EQ(trial.raw.size(), 279u);
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(2), full_trial());
}

// Written by the program itself (a sweep of paper-cnn on a busy machine, a sweep of small-cnn with
// epochs) before batches were interleaved in rounds: nearly half of its steps are flagged as
// disturbed.
TEST(MigrationFromVersion6, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v6.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v6.db", file);
  const auto store = store::open_store(file.string());
  EXPECT_EQ(store->study(2)->trials.at(0).epochs.size(), 2u);
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->answer, "");
  ASSERT_EQ(old->trials.size(), 2u);
  const trial::Trial& trial = old->trials[0];
  EXPECT_EQ(trial.setting.batch, 64);
  EXPECT_EQ(trial.contention.slowed_share, std::nullopt) << "disturbed_share was another thing";
  EXPECT_EQ(trial.trace.size(), 16u);
  ASSERT_EQ(trial.raw.size(), 119u);
  double seconds = 0;
  for (const trial::Step& step : trial.raw) {
    EXPECT_EQ(step.samples, 64);
    EXPECT_EQ(step.updates, 1);
    EXPECT_EQ(step.round, 0);
    EXPECT_FALSE(step.outlier);
    seconds += step.seconds;
  }
  EXPECT_TRUE(trial.raw[7].warm_up);
  EXPECT_FALSE(trial.raw[8].warm_up);
  EXPECT_LT(seconds, trial.seconds);
  const auto writer = store->open_study(old->study_key, environment(), false);
  trial::Trial grown = writer->study().trials.at(0);
  expect_equal(grown, trial);
  grown.raw.push_back({0.5, 640, 10, {}, false, false, 1});  // writes use today's layout
  add(*writer, grown);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(0), grown);
  expect_equal(store->study(1)->trials.at(2), full_trial());
}

// Written by the program itself (sweeps of shell scripts, one of which fails) before steps were
// distinguished from timings, and reasons from last lines.
TEST(MigrationFromVersion7, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v7.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v7.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 2u);
  EXPECT_EQ(old->trials[0].timings, 23);
  EXPECT_EQ(old->trials[0].steps_total, std::nullopt);
  EXPECT_EQ(store->study(2)->trials.at(0).last_output, "");
  EXPECT_WORDS(store->study(2)->trials.at(0).note);
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(2), full_trial());
}

// Written by the program itself (a sweep of a shell script, one batch of which ran out of memory)
// before programs' GPU use was stored.
TEST(MigrationFromVersion8, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v8.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v8.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 2u);
  EXPECT_EQ(old->trials[0].outcome, trial::Outcome::out_of_memory);
  EXPECT_EQ(old->trials[0].memory_wanted, std::nullopt);
  EXPECT_EQ(old->trials[1].steps, 5);
  EXPECT_EQ(old->trials[1].setting.configuration.power_limit_watts, std::nullopt);
  EXPECT_FALSE(old->trials[1].inputs_vary);
  EXPECT_TRUE(old->trials[1].gpus.empty());
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(2), full_trial());
}

// Written by the program itself (a sweep of a fake workload) before studies had queues.
TEST(MigrationFromVersion9, IsReadInFullAndShared) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v9.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v9.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 3u);
  EXPECT_TRUE(store->attempts(1).empty());
  const auto queue = store->join_study(old->study_key, environment(), {});
  const trial::Setting measured = old->trials[0].setting;
  const std::vector<trial::Setting> twice{measured, measured};
  queue->plan(twice);
  const auto claim = queue->claim();
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->setting, measured);
  EXPECT_FALSE(queue->claim()) << "the other one was measured before";
}

// Written by the program itself (a sweep of small-cnn with epochs) before trials had their gradient
// noise.
TEST(MigrationFromVersion9, IsReadInFullAndWrittenOn) {
  const TemporaryFolder folder;
  const fs::path file = folder / "v9.db";
  fs::copy_file(fs::path(SWEETSPOT_SOURCE_DIR) / "tests/store/fixtures/v9-epochs.db", file);
  const auto store = store::open_store(file.string());
  const auto old = store->study(1);
  ASSERT_TRUE(old);
  ASSERT_EQ(old->trials.size(), 2u);
  EXPECT_EQ(old->trials[0].noise_scale, std::nullopt);
  ASSERT_EQ(old->trials[0].epochs.size(), 2u);
  EXPECT_EQ(old->trials[0].epochs[1].noise_scale, std::nullopt);
  EXPECT_TRUE(old->trials[0].epochs[1].test_accuracy);
  const auto writer = store->open_study(old->study_key, environment(), false);
  add(*writer, full_trial());
  expect_equal(store->study(1)->trials.at(2), full_trial());
}

}  // namespace
}  // namespace sweetspot::tests
