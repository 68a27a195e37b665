// The search for a batch size through the real binary, mostly on a fake workload in virtual time.
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/support.h"
#include "integrity.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string fake = "fake:fixed=2ms,sample=10us,noise=1%,memory-fixed=1MiB,memory-sample=1KiB";

struct Tune : testing::Test {
  TemporaryFolder folder;

  Launch launch(std::vector<std::string> more, const std::string& workload = fake) {
    Launch made;
    made.arguments = {"tune", "--workload", workload};
    made.arguments.insert(made.arguments.end(), more.begin(), more.end());
    made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
    made.folder = folder.path().string();
    return made;
  }
  Finished tune(std::vector<std::string> more, const std::string& workload = fake) {
    return run(launch(std::move(more), workload));
  }
};

TEST_F(Tune, EndsInTableCurveSentenceAndReasons) {
  const Finished finished = tune({});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("|"));
  EXPECT_THAT(finished.out, HasSubstr("samples/s by batch\n"));
  EXPECT_THAT(finished.out, HasSubstr("#"));  // the chosen batch, in ASCII
  EXPECT_THAT(finished.out, HasSubstr("\nTrain with batch "));
  EXPECT_THAT(finished.out, HasSubstr("\n- "));
  EXPECT_THAT(finished.err, HasSubstr("samples/s ±"));
  EXPECT_THAT(finished.err, Not(HasSubstr("\033")));
  EXPECT_TRUE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Tune, ANativeAnswerIsACommandThatTrains) {
  const Finished finished = tune({"--model", "mlp", "--data", "synthetic:300", "--max", "64",
                                  "--lr", "0.002", "--json", "--budget", "20s"},
                                 "native");
  Json json = json_of(finished);
  ASSERT_TRUE(json["recommendation"].is_object()) << finished.err;
  const std::string command = json["recommendation"]["command"];
  EXPECT_THAT(command, StartsWith("sweetspot train --model mlp --data synthetic:300 --batch "));
  EXPECT_THAT(command, HasSubstr("--lr 0.002"));
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) words.push_back(word);
  words.erase(words.begin());
  words.insert(words.end(), {"--max-steps", "1"});
  EXPECT_EQ(run(words).exit_code, 0);
  for (const auto& trial : json["trials"]) {
    EXPECT_EQ(trial["memory_bytes"]["predicted"], trial["memory_bytes"]["measured"]);
    EXPECT_LE(trial["setting"]["batch"], 64);
  }
  // The page that a report of the stored study would put in place of tune's has it too.
  Launch report = launch({});
  report.arguments = {"report", "-o", "-"};
  const Finished page = run(report);
  EXPECT_THAT(page.out, HasSubstr(">sweetspot train --model mlp --data synthetic:300 --batch "));
  EXPECT_THAT(page.out, HasSubstr(" --lr 0.002</pre>"));
}

TEST_F(Tune, JsonHasItsForm) {
  Json json = json_of(tune({"--json"}));
  EXPECT_EQ(json["status"], "found");
  EXPECT_GT(json["recommendation"]["batch"], 1000);
  EXPECT_GT(json["recommendation"]["throughput_share"], 0.9);
  EXPECT_EQ(json["cost"]["trials"], json["trials"].size());
  EXPECT_EQ(json["cost"]["resumed_trials"], 0);
  EXPECT_TRUE(json["environment"]["cpu"].is_string() || json["environment"]["cpu"].is_null());
}

TEST_F(Tune, ASecondRunKnowsTheAnswerAndFreshForgetsIt) {
  // A limit of its own: the reasons quote what is allowed, and what is free changes by the moment.
  const std::vector<std::string> asked{"--json", "--memory-limit", "4GiB"};
  Json first = json_of(tune(asked)), second = json_of(tune(asked));
  EXPECT_EQ(second["cost"]["trials"], 0);
  EXPECT_EQ(second["recommendation"], first["recommendation"]);
  EXPECT_EQ(second["study"], first["study"]);
  Json fresh = json_of(tune({"--json", "--memory-limit", "4GiB", "--fresh"}));
  EXPECT_GT(fresh["cost"]["trials"], 0);
  EXPECT_NE(fresh["study"], first["study"]);
  // Another question is another study.
  EXPECT_GT(json_of(tune({"--json", "--tolerance", "10%"}))["cost"]["trials"], 0);
}

TEST_F(Tune, KeepsToItsLimits) {
  Json json = json_of(tune({"--json", "--min", "20", "--max", "1000", "--multiple-of", "8"}));
  for (const auto& trial : json["trials"]) {
    const std::int64_t batch = trial["setting"]["batch"];
    EXPECT_EQ(batch % 8, 0);
    EXPECT_GE(batch, 20);
    EXPECT_LE(batch, 1000);
  }
  json = json_of(tune({"--json", "--memory-limit", "1100KiB"}));
  EXPECT_LE(json["recommendation"]["batch"], 76);
  json = json_of(tune({"--json", "--for", "max-batch", "--memory-limit", "1100KiB"}));
  EXPECT_EQ(json["recommendation"]["batch"], 76);
}

TEST_F(Tune, NothingFeasibleIsExitThree) {
  const Finished finished = tune({"--memory-limit", "1KiB"});
  expect_sentence(finished, 3, "no batch fits");
  const Finished json = tune({"--memory-limit", "1KiB", "--json"});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(json_of(json)["status"], "nothing_feasible");
  EXPECT_TRUE(json_of(json)["recommendation"].is_null());
}

TEST_F(Tune, TheBudgetIsExitFour) {
  const Finished finished = tune({"--budget", "1us", "--json"});
  EXPECT_EQ(finished.exit_code, 4) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "budget");
}

TEST_F(Tune, BadFlagsAreToldBeforeAnythingRuns) {
  expect_sentence(tune({"--for", "fun"}), 2, "--for 'fun'");
  expect_sentence(tune({"--tolerance", "-1%"}), 2, "--tolerance");
  expect_sentence(tune({"--precision-of-estimate", "nan"}), 2, "--precision-of-estimate");
  expect_sentence(tune({"--memory-share", "2"}), 2, "--memory-share");
  expect_sentence(tune({"--budget", "0s"}), 2, "--budget");
  expect_sentence(tune({"--min", "100", "--max", "50"}), 2, "no batch to try");
  expect_sentence(tune({"--export-csv", "none/a.csv"}), 2, "--export-csv");
  EXPECT_FALSE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Tune, ExportsAreWritten) {
  EXPECT_EQ(tune({"--export-csv", "a.csv", "--export-markdown", "b.md"}).exit_code, 0);
  EXPECT_THAT(read_file(folder / "a.csv"), StartsWith("batch,"));
  EXPECT_THAT(read_file(folder / "b.md"), HasSubstr("Train with batch"));
}

TEST_F(Tune, ATerminalSeesTheCurveAndIsLeftClean) {
  Launch made = launch({"--no-report"});
  made.terminal = true;
  made.environment["TERM"] = "xterm";
  made.environment["NO_COLOR"] = "1";
  const Finished finished = run(made);
  EXPECT_THAT(finished.err, HasSubstr("tuning fake"));
  EXPECT_THAT(finished.err, HasSubstr("A\r\033[J"));
  EXPECT_THAT(finished.err, Not(HasSubstr("\033[36m")));
  EXPECT_THAT(finished.err, testing::EndsWith("\033[J"));
}

TEST_F(Tune, CtrlCFinishesTheTrialSavesAndAnswers) {
  Launch made = launch({"--model", "mlp", "--data", "synthetic:2000", "--json", "--load-delay",
                        "1ms/batch", "--precision-of-estimate", "0.01%"},
                       "native");
  made.signal_when_seen = "samples/s";
  made.signal = SIGINT;
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  Json json = json_of(finished);
  EXPECT_EQ(json["status"], "stopped");
  EXPECT_TRUE(json["recommendation"].is_object());
  // What was measured is not measured again.
  made.signal = 0;
  made.arguments.insert(made.arguments.end(), {"--budget", "1us"});
  EXPECT_GE(json_of(run(made))["cost"]["resumed_trials"], json["trials"].size());
}

// A trial that goes on until somebody stops it.
Launch endless(Launch made) {
  made.arguments.insert(
      made.arguments.end(),
      {"--model", "mlp", "--data", "synthetic:2000", "--json", "--load-delay", "1s/batch",
       "--workers", "0", "--min", "8", "--max", "8", "--precision-of-estimate", "0.01%"});
  made.terminal = true;  // which shows each trial from its start
  made.environment["TERM"] = "xterm";
  made.signal_when_seen = "batch 8";
  return made;
}

void press(pid_t process) { kill(process, SIGINT); }

TEST_F(Tune, TheSecondCtrlCStopsTheTrialAndTheStoreIsWhole) {
  Launch made = endless(launch({}, "native"));
  made.signal = SIGINT;
  made.cues = {{"once more stops it now", press}};
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(json_of(finished)["trials"].size(), 0u);
  EXPECT_THAT(finished.err, HasSubstr("nothing is known yet"));
  EXPECT_EQ(integrity(folder / "sweetspot.db"), "ok");
}

TEST_F(Tune, TheThirdCtrlCLeavesAtOnceAndTheStoreIsWhole) {
  Launch made = endless(launch({}, "native"));
  made.signal = SIGINT;
  made.cues = {{"once more stops it now", press}, {"once more leaves at once", press}};
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(integrity(folder / "sweetspot.db"), "ok");
}

TEST_F(Tune, SigtermStopsTheTrialHoweverOftenItComes) {
  Launch made = endless(launch({}, "native"));
  made.signal = SIGTERM;
  // timeout(1) sends it to the process and to its group.
  made.cues = {{"stopping this trial", [](pid_t process) { kill(process, SIGTERM); }}};
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "stopped");
  EXPECT_EQ(json_of(finished)["trials"].size(), 0u);
}

TEST_F(Tune, SigtermAnswersFromWhatIsKnown) {
  Launch made = launch({"--model", "mlp", "--data", "synthetic:2000", "--json", "--load-delay",
                        "1ms/batch", "--precision-of-estimate", "0.01%"},
                       "native");
  made.signal_when_seen = "samples/s";
  made.signal = SIGTERM;
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_TRUE(json_of(finished)["recommendation"].is_object());
}

TEST_F(Tune, AFolderThatGoesAwayIsOneSentenceAndTheAnswerIsGiven) {
  fs::create_directory(folder / "kept");
  Launch made = launch({"--model", "mlp", "--data", "synthetic:2000", "--json", "--load-delay",
                        "1ms/batch", "--db", "kept/a.db"},
                       "native");
  made.cues = {{"samples/s", [this](pid_t) { fs::remove_all(folder / "kept"); }}};
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("kept/a.db"));
  EXPECT_EQ(json_of(finished)["status"], "store_failed");
  EXPECT_TRUE(json_of(finished)["recommendation"].is_object());
}

// Kills at random moments; the study goes on where it was and ends as an undisturbed one does.
TEST_F(Tune, AKilledStudyEndsWithTheSameAnswer) {
  Json truth = json_of(tune({"--json", "--db", "truth.db"}));
  std::mt19937 random(1000);
  std::uniform_int_distribution<int> moment_us(0, 60'000);
  std::size_t known = 0;
  for (int i = 0; i < 200; ++i) {
    Launch made = launch({"--json"});
    made.signal = SIGKILL;
    made.signal_after = std::chrono::microseconds(moment_us(random));
    run(made);
    ASSERT_EQ(integrity(folder / "sweetspot.db"), "ok") << i;
    if (i % 10 != 9) continue;
    Json resumed = json_of(tune({"--json", "--budget", "1us"}));
    EXPECT_GE(resumed["cost"]["resumed_trials"], known);
    known = resumed["cost"]["resumed_trials"];
    if (known < truth["trials"].size()) continue;
    EXPECT_EQ(resumed["recommendation"]["batch"], truth["recommendation"]["batch"]);
    fs::remove_all(folder / "sweetspot.db");
    for (const char* part : {"sweetspot.db-wal", "sweetspot.db-shm", "sweetspot.db-journal"})
      fs::remove(folder / part);
    known = 0;
  }
  Json last = json_of(tune({"--json"}));
  EXPECT_EQ(last["status"], "found");
  EXPECT_EQ(last["recommendation"]["batch"], truth["recommendation"]["batch"]);
}

TEST_F(Tune, AStoreThatCannotBeUsedIsOneSentence) {
  write_file(folder / "corrupt.db", std::string(5000, 'x'));
  const Finished corrupt = tune({"--db", "corrupt.db"});
  EXPECT_NE(corrupt.exit_code, 0);
  expect_sentence(corrupt, corrupt.exit_code, "corrupt.db");
  const Finished gone = tune({"--db", "none/a.db"});
  EXPECT_NE(gone.exit_code, 0);
  expect_sentence(gone, gone.exit_code, "none of the database does not exist");
}

TEST_F(Tune, AFullDiskKeepsTheFinishedTrials) {
  ASSERT_EQ(tune({"--budget", "1us"}).exit_code, 4);  // the file exists and is small
  Launch made = launch({"--json"});
  made.file_size_limit = 60'000;
  const Finished full = run(made);
  EXPECT_NE(full.exit_code, 0);
  EXPECT_THAT(full.err, HasSubstr("sweetspot: "));
  EXPECT_EQ(json_of(tune({"--json"}))["status"], "found");
}

}  // namespace
}  // namespace sweetspot::tests
