// The studies that are in a database: listed, shown, deleted.
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "rendered.h"
#include "store/store.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

class Studies : public testing::Test {
 protected:
  Studies() {
    const auto store = store::open_store(file_.string());
    for (const int number : {1, 2}) {
      const auto writer =
          store->open_study({"paper-cnn on mnist", "{\"number\":" + std::to_string(number) + "}"},
                            {"sweetspot 0.1.0", "a CPU", "{\"cpu\":\"a CPU\"}"}, false);
      std::vector<trial::Trial> trials{trial_of(16), trial_of(32)};
      writer->save(trials);
      if (number == 1) writer->set_end(trial::End::finished);
    }
  }
  static trial::Trial trial_of(std::int64_t batch) {
    trial::Trial trial;
    trial.setting.batch = batch;
    const double speed = 1000.0 * static_cast<double>(batch);
    trial.stop_reason = trial::StopReason::precise;
    trial.samples_per_second = {speed, 0.99 * speed, 1.01 * speed};
    trial.step_seconds_median = 0.001;
    trial.steps = trial.timings = 3, trial.warm_up_steps = 1;
    trial.samples_seen = 3 * batch;
    trial.memory_predicted = trial.memory_measured = 5000000;
    trial.phases = {0.1, 0.2, 0.3, 0.4, 0.5};
    trial.started_at = 1790000001, trial.seconds = 0.5;
    for (const double seconds : {0.001, 0.002, 0.003})
      trial.raw.push_back({seconds, batch, 1, {}, seconds == 0.001, false});
    return trial;
  }
  // `sweetspot studies …` on the database, by flag.
  Finished studies(std::vector<std::string> more) const {
    more.insert(more.begin(), "studies");
    more.insert(more.end(), {"--db", file_.string()});
    return run(more);
  }
  Json json(std::vector<std::string> more) const {
    more.push_back("--json");
    const Finished finished = studies(more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json_of(finished);
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_ / "a.db";
};

TEST_F(Studies, AreListedNewestFirst) {
  const Json list = json({"list"})["studies"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["study"], "2");
  EXPECT_EQ(list[0]["state"], "stopped");
  EXPECT_EQ(list[1]["study"], "1");
  EXPECT_EQ(list[1]["workload"], "paper-cnn on mnist");
  EXPECT_EQ(list[1]["state"], "finished");
  EXPECT_EQ(list[1]["trial_count"], 2);
  EXPECT_GT(list[1]["started_at_unix_seconds"], 1.7e9);
  EXPECT_EQ(list[1]["best"]["batch"], 32);
  EXPECT_DOUBLE_EQ(list[1]["best"]["samples_per_second"], 32000);
}

TEST_F(Studies, AreListedAsATable) {
  const Finished finished = studies({"list"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(column_of(finished.out), ElementsAre("2", "1"));
  EXPECT_WORDS(without_numbers(finished.out));  // in local time
}

TEST_F(Studies, AreShownWithTheirTrials) {
  const Json study = json({"show", "1"});
  EXPECT_EQ(study["study"], "1");
  EXPECT_EQ(study["question"]["number"], 1);
  EXPECT_EQ(study["environment"]["cpu"], "a CPU");
  ASSERT_EQ(study["trials"].size(), 2u);
  const Json& trial = study["trials"][1];
  EXPECT_EQ(trial["setting"]["batch"], 32);
  EXPECT_EQ(trial["outcome"], "ok");
  EXPECT_EQ(trial["samples_per_second"]["low"], 990 * 32);
  EXPECT_EQ(trial["memory_bytes"]["measured"], 5000000);
  EXPECT_TRUE(trial["contention"]["slowed_share"].is_null());

  EXPECT_WORDS(without_numbers(studies({"show", "1"}).out));
}

// Counting a character of several bytes as one column.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, columns = 0;
  for (const char c : text) {
    if (c == '\r') continue;
    columns = c == '\n' ? 0 : columns + ((static_cast<unsigned char>(c) & 0xC0) != 0x80);
    widest = std::max(widest, columns);
  }
  return widest;
}

TEST_F(Studies, FitTheTerminalTheyAreShownOn) {
  for (const unsigned short columns : std::vector<unsigned short>{60, 80})
    for (const auto& command : std::vector<std::vector<std::string>>{{"list"}, {"show", "1"}}) {
      Launch launch;
      launch.arguments = {"studies"};
      launch.arguments.insert(launch.arguments.end(), command.begin(), command.end());
      launch.environment = {{"SWEETSPOT_DB", "sqlite:" + file_.string()}};
      launch.stdout_terminal = true, launch.columns = columns;
      const std::string text = run(launch).out;
      EXPECT_LE(widest_line(text), columns) << text;
      for (const char* each : {"workload", "limit", "answer"})
        EXPECT_TRUE(command[0] != "list" || text.find(each) != text.npos) << text;
    }
  // A pipe gets all of it.
  EXPECT_GT(widest_line(studies({"list"}).out), 80u);
}

TEST_F(Studies, AreDeleted) {
  EXPECT_EQ(json({"delete", "1"})["status"], "deleted");
  expect_sentence(studies({"delete", "1"}), 2);
  EXPECT_EQ(json({"list"})["studies"].size(), 1u);
  EXPECT_WORDS(studies({"delete", "2"}).out);
  const Finished none = studies({"list"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_WORDS(none.err);
}

TEST_F(Studies, ThatAreUnknownAreSaidToBe) {
  expect_sentence(studies({"show", "7"}), 2);
  expect_sentence(studies({"delete", "7"}), 2);
  for (const char* number : {"0", "-1", "x", "1.5", ""})
    expect_sentence(studies({"show", number}), 2);
  expect_sentence(studies({"show"}), 2, "--help");
  expect_sentence(studies({}), 2, "--help");
}

TEST_F(Studies, TheDatabaseIsTheVariablesWithoutTheFlag) {
  Launch launch;
  launch.arguments = {"studies", "list", "--json"};
  launch.environment = {{"SWEETSPOT_DB", "sqlite:" + file_.string()}};
  EXPECT_EQ(json_of(run(launch))["studies"].size(), 2u);
}

TEST_F(Studies, OfNoDatabaseAreNoneAndNothingIsMade) {
  for (const char* each : {"", "-lock"}) fs::remove(file_.string() + each);
  EXPECT_TRUE(json({"list"})["studies"].empty());
  expect_sentence(studies({"delete", "1"}), 2);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(Studies, OfABadDatabaseAreASentence) {
  write_file(file_, std::string(5000, 'x'));
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"list"}, {"show", "1"}, {"delete", "1"}})
    expect_sentence(studies(command), 2);
  EXPECT_EQ(read_file(file_), std::string(5000, 'x'));
}

TEST_F(Studies, OfAnOlderSchemaAreASentence) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version = 14", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const std::string before = read_file(file_);
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"list"}, {"show", "1"}, {"delete", "1"}})
    expect_sentence(studies(command), 2);
  expect_sentence(run({"tune", "--workload", "fake:", "--db", file_.string()}), 2);
  EXPECT_EQ(read_file(file_), before);
}

class NamedStudies : public testing::Test {
 protected:
  Finished here(std::vector<std::string> arguments) const {
    Launch launch;
    launch.arguments = std::move(arguments);
    launch.folder = folder.path().string();
    return run(launch);
  }
  Finished tune(std::vector<std::string> more) const {
    more.insert(more.begin(), {"tune", "--workload", "fake:fixed=2ms,sample=10us", "--no-report"});
    return here(more);
  }
  Json list() const { return json_of(here({"studies", "list", "--json"}))["studies"]; }

  TemporaryFolder folder;
};

TEST_F(NamedStudies, TellWhatTheyWereAsked) {
  EXPECT_EQ(tune({"--memory-limit", "4GiB"}).exit_code, 0);
  EXPECT_EQ(tune({"--for", "max-batch", "--max", "512"}).exit_code, 0);
  EXPECT_EQ(
      here({"sweep", "--workload", "fake:fixed=2ms,sample=10us", "--batch", "16..64*2"}).exit_code,
      0);
  const Json studies = list();
  ASSERT_EQ(studies.size(), 3u);
  EXPECT_EQ(studies[2]["goal"], "throughput");
  EXPECT_WORDS(studies[2]["limit"].get<std::string>());
  EXPECT_EQ(studies[1]["goal"], "max-batch");
  EXPECT_WORDS(studies[1]["limit"].get<std::string>());
  EXPECT_EQ(studies[0]["goal"], "sweep 16–64");
  EXPECT_TRUE(studies[0]["limit"].is_null());
  EXPECT_TRUE(studies[0]["name"].is_null());
  const std::vector<Cells> rows = cells_of(here({"studies", "list"}).out);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(rows[i + 1], Contains(studies[i]["goal"].get<std::string>()));
    EXPECT_THAT(rows[i + 1], Contains(StartsWith("fake:fixed=2ms")));
  }
}

TEST_F(NamedStudies, AnotherNameIsAnotherStudyAndANumberToo) {
  EXPECT_EQ(tune({"--name", "before"}).exit_code, 0);
  EXPECT_EQ(tune({"--name", "after"}).exit_code, 0);
  EXPECT_EQ(tune({"--name", "before"}).exit_code, 0);  // goes on
  const Json studies = list();
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0]["name"], "after");
  EXPECT_EQ(json_of(here({"studies", "show", "before", "--json"}))["study"], "1");
  EXPECT_EQ(json_of(here({"report", "after", "--json"}))["study"], "2");
  const auto compared = [&](std::vector<std::string> which) {
    which.insert(which.begin(), {"report", "--compare"});
    which.push_back("--json");
    return json_of(here(which));
  };
  EXPECT_EQ(compared({"before", "after"})["a"]["name"], compared({"1", "after"})["a"]["name"]);
  EXPECT_EQ(compared({"before", "after", "1"})["studies"].size(), 3u);
  expect_sentence(here({"studies", "show", "nobody"}), 2);
  expect_sentence(here({"report", "page.html"}), 2);
  EXPECT_EQ(here({"studies", "delete", "before"}).exit_code, 0);
  EXPECT_EQ(list().size(), 1u);
}

TEST_F(NamedStudies, NamesThatCouldBeTakenForSomethingElseAreRefused) {
  for (const char* name : {"", "7", "1.5", "a:b", "\033[31m"})
    expect_sentence(tune({"--name", name}), 2);
  expect_sentence(tune({"--name", std::string(61, 'x')}), 2);
}

TEST_F(NamedStudies, ARunThatCameToNothingLeavesNoStudy) {
  const Finished failed =
      here({"tune", "--setup", "false", "--no-report", "--", "true", "{batch}"});
  EXPECT_NE(failed.exit_code, 0);
  EXPECT_EQ(list().size(), 0u);
  EXPECT_EQ(tune({}).exit_code, 0);
  EXPECT_EQ(list().size(), 1u);
}

}  // namespace
}  // namespace sweetspot::tests
