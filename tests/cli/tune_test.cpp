// The search for a batch size through the real binary, mostly on a fake workload in virtual time.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/support.h"
#include "integrity.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// 95% of the speed of batch 8,192 begin at 1,983.
const std::string fake =
    "fake:fixed=1400us,sample=10us,noise=1%,samples=8192,memory-fixed=1MiB,memory-sample=1KiB";
constexpr int right_answer = 2048;

// Lines without their ends, which a terminal writes as \r\n.
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    found.push_back(line);
  }
  return found;
}

// As if it had not been wrapped.
std::string unwrapped(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

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

TEST_F(Tune, AnswersOnOneScreenAndSaysNothingElse) {
  for (const std::string& workload : {fake, std::string("fake:fixed=2ms,sample=10us")}) {
    Launch made = launch({"--fresh"}, workload);
    made.environment["LC_ALL"] = "C.UTF-8";
    const Finished finished = run(made);
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_EQ(finished.err, "");
    Launch report = launch({});
    report.arguments = {"report", "--json"};
    const Json told = json_of(run(report))["recommendation"];
    EXPECT_THAT(unwrapped(finished.out), StartsWith(told["sentence"].get<std::string>()));
    EXPECT_THAT(unwrapped(finished.out),
                HasSubstr(": " + told["reasons"][0]["text"].get<std::string>()));
    const auto shown = lines(finished.out);
    EXPECT_LE(shown.size(), 20u);
    for (const std::string& line : shown) EXPECT_LE(columns(line), 80u) << line;
  }
  EXPECT_TRUE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Tune, ANarrowTerminalIsKeptTo) {
  Launch made = launch({"--no-report"});
  made.terminal = made.stdout_terminal = true;
  made.columns = 60;
  made.environment["TERM"] = "xterm";
  made.environment["LC_ALL"] = "C.UTF-8";
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 0);
  for (const std::string& line : lines(finished.out)) EXPECT_LE(columns(line), 60u) << line;
  EXPECT_LE(lines(finished.out).size(), 20u);
}

// Each drawing overwrites the one before, in one line that no terminal wraps, and the last is
// wiped.
TEST_F(Tune, ATerminalSeesOneLineThatIsRewritten) {
  for (const auto width : std::initializer_list<unsigned short>{40, 60, 80, 200}) {
    Launch made = launch({"--no-report", "--fresh"});
    made.terminal = true;
    made.columns = width;
    made.environment["TERM"] = "xterm";
    made.environment["NO_COLOR"] = "1";
    const std::string seen = run(made).err;
    EXPECT_THAT(seen, AllOf(HasSubstr("fake"), Not(HasSubstr("\n")), EndsWith("\r\033[K")));
    std::size_t drawings = 0;
    for (std::size_t at = 0; at < seen.size(); ++drawings) {
      ASSERT_EQ(seen.substr(at, 4), "\r\033[K");
      const std::size_t next = seen.find('\r', at + 1);
      const std::string drawing = seen.substr(at + 4, next - at - 4);
      EXPECT_LT(columns(drawing), width);
      // With the usual 80 columns nothing is cut in the middle.
      if (width >= 80 && drawing.find(" round ") == drawing.npos && !drawing.empty()) {
        EXPECT_TRUE(drawing.ends_with(" s")) << drawing;
      }
      at = std::min(next, seen.size());
    }
    EXPECT_GT(drawings, 10u);
  }
}

TEST_F(Tune, TellsOfItsRoundsWhenAsked) {
  const Finished finished = tune({"--verbose"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, AllOf(HasSubstr(" 2,048"), Not(HasSubstr("\033"))));
  EXPECT_WORDS(without_numbers(lines(finished.err).front()));
}

TEST_F(Tune, DrawsTheCurveWhenAsked) {
  const std::string plain = tune({}).out, with_plot = tune({"--plot"}).out;
  EXPECT_GT(lines(with_plot).size(), lines(plain).size() + 5);
  EXPECT_EQ(std::ranges::count(plain, '#'), 0);
  EXPECT_EQ(std::ranges::count(with_plot, '#'), 1);  // the chosen batch, in ASCII
}

TEST_F(Tune, ANativeAnswerIsACommandThatTrains) {
  const Finished finished =
      tune({"--model", "mlp", "--data", "synthetic:300", "--max", "64", "--lr", "0.002",
            "--lr-rule", "none", "--json", "--budget", "20s"},
           "native");
  Json json = json_of(finished);
  ASSERT_TRUE(json["recommendation"].is_object()) << finished.err;
  const std::string command = json["recommendation"]["command"];
  EXPECT_THAT(command, StartsWith("sweetspot train --model mlp --data synthetic:300 --batch "));
  EXPECT_THAT(command, EndsWith("--lr 0.002"));
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
  EXPECT_THAT(elements_of(page.out, "pre"), Contains(command));
}

TEST_F(Tune, ANativeAnswerKnowsTheNoiseOfItsGradientsAndItsLearningRate) {
  const Finished finished =
      tune({"--model", "small-cnn", "--data", "synthetic:2000", "--max", "64", "--min", "64",
            "--lr-check", "--optimizer", "sgd", "--lr", "0.02", "--lr-batch", "32", "--json"},
           "native");
  Json made = json_of(finished)["recommendation"];
  ASSERT_TRUE(made.is_object()) << finished.err;
  ASSERT_TRUE(made["noise_scale"].is_object());
  EXPECT_GT(made["noise_scale"]["trained_epochs"], 0);
  const Json rule = made["learning_rate_rule"];
  EXPECT_EQ(rule["base_learning_rate"], 0.02);
  EXPECT_EQ(rule["base_batch"], 32);
  ASSERT_EQ(rule["tried"].size(), 3u);
  EXPECT_EQ(rule["tried"][1]["learning_rate"], rule["learning_rate"]);
  EXPECT_EQ(rule["rule"], rule["noise_scale_samples"].is_null() ? "linear" : "adascale");
  EXPECT_THAT(std::string(made["command"]), HasSubstr(" --lr "));
  EXPECT_EQ(
      json_of(tune({"--model", "small-cnn", "--data", "synthetic:2000", "--max", "64", "--min",
                    "64", "--optimizer", "sgd", "--lr", "0.02", "--lr-batch", "32", "--json"},
                   "native"))["recommendation"]["noise_scale"],
      made["noise_scale"])
      << "whoever asks again is told what was found before";
}

TEST_F(Tune, LearningRateRulesAreForOwnModelsOnly) {
  expect_sentence(tune({"--lr-rule", "linear"}), 2);
  expect_sentence(tune({"--lr-check"}), 2);
  expect_sentence(tune({"--lr-rule", "cubic"}, "native"), 2);
  expect_sentence(tune({"--lr-batch", "0"}, "native"), 2);
}

TEST_F(Tune, JsonHasItsForm) {
  Json json = json_of(tune({"--json"}));
  EXPECT_EQ(json["status"], "found");
  EXPECT_EQ(json["recommendation"]["batch"], right_answer);
  EXPECT_GT(json["recommendation"]["throughput_share"], 0.9);
  EXPECT_LE(json["recommendation"]["knee"]["low_batch"], 1983);
  EXPECT_GE(json["recommendation"]["knee"]["high_batch"], 1983);
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

// Also of a study that was cut short and went on.
TEST_F(Tune, EveryCommandGivesTheAnswerThatItPrinted) {
  const auto stored = [this](std::vector<std::string> arguments) {
    Launch made = launch({});
    made.arguments = std::move(arguments);
    return run(made);
  };
  for (const std::string& budget : {std::string("300ms"), std::string("1m")}) {
    Json told = json_of(tune({"--json", "--memory-limit", "4GiB", "--budget", budget}));
    ASSERT_TRUE(told["recommendation"].is_object());
    const std::string study = told["study"];
    EXPECT_EQ(study, "1");
    EXPECT_EQ(json_of(stored({"report", study, "--json"}))["recommendation"],
              told["recommendation"]);
    Json shown = json_of(stored({"studies", "show", study, "--json"}));
    EXPECT_EQ(shown["answer"]["batch"], told["recommendation"]["batch"]);
    EXPECT_EQ(shown["answer"]["samples_per_second"], told["recommendation"]["samples_per_second"]);
    const std::string sentence = told["recommendation"]["sentence"];
    EXPECT_THAT(stored({"studies", "show", study}).out, HasSubstr(sentence));
    EXPECT_THAT(stored({"report", study, "--markdown"}).out, HasSubstr(sentence));
  }
  Json told = json_of(stored({"report", "1", "--json"}));
  Json again = json_of(tune({"--json", "--memory-limit", "4GiB"}));
  EXPECT_EQ(again["recommendation"]["batch"], told["recommendation"]["batch"]);
  EXPECT_EQ(again["recommendation"]["rows"], told["recommendation"]["rows"]);
}

// It printed a command that took 205 of 200 MiB, and the page named another largest batch.
TEST_F(Tune, ALimitHoldsForTheCommandThatItPrints) {
  const std::string limit = "200MiB";
  Json json =
      json_of(tune({"--model", "paper-cnn", "--data", "synthetic:5000", "--for", "max-batch",
                    "--memory-limit", limit, "--precision-of-estimate", "50%", "--json"},
                   "native"));
  ASSERT_TRUE(json["recommendation"].is_object());
  constexpr std::int64_t allowed = 200 << 20;
  std::vector<std::string> words;
  std::istringstream in(json["recommendation"]["command"].get<std::string>());
  for (std::string word; in >> word;) words.push_back(word);
  ASSERT_GT(words.size(), 2u);
  words.erase(words.begin());
  words.insert(words.end(), {"--max-steps", "1", "--json"});
  Json trained = json_of(run(words));
  EXPECT_LE(trained["memory_bytes"]["predicted"], allowed);
  EXPECT_LE(trained["memory_bytes"]["measured"], allowed);
  EXPECT_EQ(trained["memory_bytes"]["predicted"], json["recommendation"]["memory_bytes"]);
  // It is the largest, and every command says so.
  const std::int64_t batch = json["recommendation"]["batch"];
  EXPECT_EQ(json["recommendation"]["largest_batch"], batch);
  Launch report = launch({});
  report.arguments = {"report", "--json"};
  EXPECT_EQ(json_of(run(report))["recommendation"], json["recommendation"]);
  Json larger = json_of(run({"train", "--model", "paper-cnn", "--data", "synthetic:5000", "--batch",
                             std::to_string(batch + batch / 50), "--max-steps", "1", "--json"}));
  EXPECT_GT(larger["memory_bytes"]["predicted"], allowed);
}

TEST_F(Tune, AGivenBatchHasMicroBatches) {
  const std::string out = tune({"--global-batch", "3000"}).out;
  EXPECT_THAT(lines(out).front(), HasSubstr("3,000"));
  Json json = json_of(tune({"--global-batch", "3000", "--json"}));
  EXPECT_THAT(unwrapped(out), StartsWith(json["recommendation"]["sentence"].get<std::string>()));
  EXPECT_EQ(json["recommendation"]["global_batch"], 3000);
  EXPECT_EQ(json["recommendation"]["batch"], 3000);
  for (const auto& row : json["recommendation"]["rows"])
    EXPECT_EQ(3000 % row["batch"].get<std::int64_t>(), 0);
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
  expect_sentence(finished, 3);
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
  expect_sentence(tune({"--for", "fun"}), 2);
  expect_sentence(tune({"--tolerance", "-1%"}), 2);
  expect_sentence(tune({"--precision-of-estimate", "nan"}), 2);
  expect_sentence(tune({"--memory-share", "2"}), 2);
  expect_sentence(tune({"--budget", "0s"}), 2);
  expect_sentence(tune({"--min", "100", "--max", "50"}), 2);
  expect_sentence(tune({"--multiple-of", "100", "--max", "50"}), 2);
  expect_sentence(run({"tune", "--device", "cpu", "--memory-limit", "gpu=1GiB"}), 2);
  expect_sentence(tune({"--export-csv", "none/a.csv"}), 2);
  EXPECT_FALSE(fs::exists(folder / "sweetspot.db"));
}

TEST_F(Tune, ExportsAreWritten) {
  EXPECT_EQ(tune({"--export-csv", "a.csv", "--export-markdown", "b.md"}).exit_code, 0);
  EXPECT_THAT(read_file(folder / "a.csv"), StartsWith("batch,"));
  EXPECT_THAT(read_file(folder / "b.md"), StartsWith("# "));
  EXPECT_GT(cells_of(read_file(folder / "b.md")).size(), 2u);
}

// One that is measured until somebody stops it; --verbose tells when there is an answer.
const std::vector<std::string> long_tune = {
    "--model",      "mlp",       "--data",    "synthetic:2000", "--json",
    "--load-delay", "1ms/batch", "--verbose", "--budget",       "5m"};
const std::string an_answer = "; so far ";

TEST_F(Tune, CtrlCFinishesTheRoundSavesAndAnswers) {
  Launch made = launch(long_tune, "native");
  made.signal_when_seen = an_answer;
  made.signal = SIGINT;
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  Json json = json_of(finished);
  EXPECT_EQ(json["status"], "stopped");
  EXPECT_TRUE(json["recommendation"].is_object());
  // What was measured is not measured again.
  made.signal = 0;
  made.arguments.back() = "1us";
  EXPECT_GE(json_of(run(made))["cost"]["resumed_trials"], json["trials"].size());
}

// Steps that take a second.
Launch endless(Launch made) {
  made.arguments.insert(
      made.arguments.end(),
      {"--model", "mlp", "--data", "synthetic:2000", "--json", "--load-delay", "1s/batch",
       "--workers", "0", "--min", "8", "--max", "8", "--precision-of-estimate", "0.01%"});
  made.terminal = true;  // which shows each round from its start
  made.environment["TERM"] = "xterm";
  made.signal_when_seen = "round 0";
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
  EXPECT_TRUE(json_of(finished)["recommendation"].is_null());
  EXPECT_WORDS(last_sentence(finished));
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
  Launch made = launch(long_tune, "native");
  made.signal_when_seen = an_answer;
  made.signal = SIGTERM;
  const Finished finished = run(made);
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_TRUE(json_of(finished)["recommendation"].is_object());
}

TEST_F(Tune, AFolderThatGoesAwayIsOneSentenceAndTheAnswerIsGiven) {
  fs::create_directory(folder / "kept");
  Launch made = launch(long_tune, "native");
  made.arguments.insert(made.arguments.end(), {"--db", "kept/a.db"});
  made.cues = {{an_answer, [this](pid_t) { fs::remove_all(folder / "kept"); }}};
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
    if (i % 50 != 49) continue;
    // To its end, and anew.
    Json whole = json_of(tune({"--json"}));
    EXPECT_EQ(whole["status"], "found");
    EXPECT_EQ(whole["recommendation"]["batch"], truth["recommendation"]["batch"]);
    EXPECT_GE(whole["cost"]["resumed_trials"], known);
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
  expect_sentence(corrupt, corrupt.exit_code);
  const Finished gone = tune({"--db", "none/a.db"});
  EXPECT_NE(gone.exit_code, 0);
  expect_sentence(gone, gone.exit_code);
}

TEST_F(Tune, AFullDiskKeepsTheFinishedTrials) {
  ASSERT_EQ(tune({"--budget", "1us"}).exit_code, 4);  // the file exists and is small
  Launch made = launch({"--json"});
  made.file_size_limit = 60'000;
  const Finished full = run(made);
  EXPECT_NE(full.exit_code, 0);
  EXPECT_WORDS(last_sentence(full));
  EXPECT_EQ(json_of(tune({"--json"}))["status"], "found");
}

}  // namespace
}  // namespace sweetspot::tests
