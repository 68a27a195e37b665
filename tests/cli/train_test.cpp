// Training runs through the real binary.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/support.h"
#include "rendered.h"
#include "report/table.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> small_train(std::vector<std::string> more) {
  std::vector<std::string> arguments{"train", "--model", "mlp", "--data", "synthetic:500"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> names;
  for (const auto& item : json.items()) names.push_back(item.key());
  return names;
}

TEST(Train, JsonHasItsForm) {
  const Finished finished =
      run({"train", "--data", "synthetic:500", "--batch", "50", "--epochs", "2", "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  Json json = json_of(finished);
  EXPECT_THAT(keys(json),
              testing::IsSupersetOf({"schema_version", "model", "device", "setting", "status",
                                     "epochs", "memory_bytes", "environment"}));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["model"], "paper-cnn");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["status"], "finished");
  EXPECT_EQ(json["setting"]["batch"], 50);
  EXPECT_EQ(json["setting"]["learning_rate"], 0.001);
  ASSERT_EQ(json["epochs"].size(), 2u);
  Json& epoch = json["epochs"][1];
  EXPECT_EQ(epoch["epoch"], 2);
  EXPECT_EQ(epoch["samples"], 500);
  for (const char* key : {"train_loss", "train_accuracy", "test_accuracy", "train_seconds",
                          "samples_per_second", "data_wait_share"})
    EXPECT_TRUE(epoch[key].is_number()) << key;
  EXPECT_GT(epoch["samples_per_second"], 0);
  EXPECT_LE(epoch["data_wait_share"], 1);
  EXPECT_THAT(keys(json["memory_bytes"]),
              testing::IsSupersetOf({"predicted", "measured", "weights", "gradients", "optimizer",
                                     "activations", "workspace", "input"}));
}

TEST(Train, TellsTheNoiseScaleOfEachEpochWhenAsked) {
  const std::vector<std::string> run_of{
      "train", "--model",  "small-cnn", "--data",    "synthetic:4000", "--batch",
      "50",    "--epochs", "8",         "--no-eval", "--json"};
  std::vector<std::string> asked = run_of;
  asked.push_back("--noise-scale");
  const Json plain = json_of(run(run_of)), json = json_of(run(asked));
  EXPECT_EQ(plain["epochs"][7]["noise_scale"], nullptr);
  const Json noise = json["epochs"][7]["noise_scale"];
  ASSERT_TRUE(noise.is_object());
  EXPECT_GT(noise["observations"], 1);
  EXPECT_GT(noise["variance_trace"], 0);
  ASSERT_TRUE(noise.contains("at_least"));  // only while there is no interval
  EXPECT_TRUE(noise["samples"].is_null() || noise["at_least"].is_null());
  EXPECT_EQ(json["epochs"][7]["train_loss"], plain["epochs"][7]["train_loss"]);
  asked.erase(asked.end() - 2);  // --json
  EXPECT_WORDS(without_numbers(headings_of(run(asked).out)));
}

TEST(Train, TheTableWithANoiseScaleFitsIn80Columns) {
  for (const char* batch : {"50", "50@0,100@1"}) {
    std::istringstream table(run({"train", "--model", "small-cnn", "--data", "synthetic:4000",
                                  "--batch", batch, "--epochs", "2", "--noise-scale"})
                                 .out);
    int lines = 0;
    for (std::string line; std::getline(table, line); ++lines)
      EXPECT_LE(report::display_width(line), 80u) << line;
    EXPECT_EQ(lines, 4);
  }
}

TEST(Train, TheTableIsTheResultAndTalkStaysOffStdout) {
  const Finished finished = run(small_train({"--epochs", "2"}));
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, testing::StartsWith("|"));
  EXPECT_EQ(std::count(finished.out.begin(), finished.out.end(), '\n'),
            4);  // head, rule, two epochs
  EXPECT_THAT(finished.err, AllOf(HasSubstr("mlp"), HasSubstr("synthetic")));
}

TEST(Train, RegressionHasNoAccuracy) {
  EXPECT_THAT(cells_of(run(small_train({"--epochs", "1"})).out).at(1), Contains("–"));
  Json epoch = json_of(run(small_train({"--epochs", "1", "--json"})))["epochs"][0];
  EXPECT_TRUE(epoch["train_accuracy"].is_null());
  EXPECT_TRUE(epoch["test_accuracy"].is_null());
  EXPECT_TRUE(epoch["test_loss"].is_number());
}

TEST(Train, MaxStepsEndsEarly) {
  Json json =
      json_of(run(small_train({"--batch", "100", "--max-steps", "7", "--no-eval", "--json"})));
  EXPECT_EQ(json["status"], "max_steps");
  EXPECT_EQ(json["steps"], 7);
  ASSERT_EQ(json["epochs"].size(), 2u);
  EXPECT_EQ(json["epochs"][0]["complete"], true);
  EXPECT_EQ(json["epochs"][1]["complete"], false);
  EXPECT_EQ(json["epochs"][1]["steps"], 2);
  EXPECT_TRUE(json["epochs"][1]["test_loss"].is_null());
}

TEST(Train, TheLastPartialBatchIsTrainedOnUnlessDropped) {
  const auto epoch = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--batch", "300", "--epochs", "1", "--json"});
    return json_of(run(small_train(more)))["epochs"][0];
  };
  EXPECT_EQ(epoch({})["samples"], 500);
  EXPECT_EQ(epoch({})["steps"], 2);
  EXPECT_EQ(epoch({"--drop-last"})["samples"], 300);
  EXPECT_EQ(epoch({"--drop-last"})["complete"], true);
}

TEST(Train, EverySlowBatchIsWaitedFor) {
  Json epoch = json_of(run(small_train({"--batch", "100", "--epochs", "1", "--workers", "0",
                                        "--load-delay", "20ms/batch", "--json"})))["epochs"][0];
  EXPECT_GE(epoch["train_seconds"].get<double>(), 0.1);  // five batches of 20 ms
  EXPECT_GE(epoch["data_wait_share"].get<double>() * epoch["train_seconds"].get<double>(), 0.1);
}

TEST(Train, TheSameSeedGivesTheSameLosses) {
  const auto losses = [](const char* seed, const char* threads, const char* workers) {
    Json json =
        json_of(run({"train", "--data", "synthetic:300", "--batch", "50", "--epochs", "2", "--seed",
                     seed, "--threads", threads, "--workers", workers, "--json"}));
    return std::pair{json["epochs"][0]["train_loss"].get<double>(),
                     json["epochs"][1]["train_loss"].get<double>()};
  };
  const auto first = losses("1", "1", "1"), second = losses("1", "2", "3"),
             other = losses("2", "1", "1");
  EXPECT_EQ(first, second);  // bit for bit
  EXPECT_NE(first.first, other.first);
}

TEST(Train, WeightsAreSavedAndLoaded) {
  const TemporaryFolder folder;
  const std::string file = (folder / "weights.safetensors").string();
  Json before = json_of(run(small_train({"--epochs", "20", "--save", file, "--json"})));
  // One tiny step from the saved weights: their loss, not that of fresh ones.
  const auto first_loss = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--max-steps", "1", "--lr", "1e-9", "--json"});
    return json_of(run(small_train(more)))["epochs"][0]["test_loss"].get<double>();
  };
  const double saved = before["epochs"][19]["test_loss"];
  EXPECT_NEAR(first_loss({"--load", file}), saved, 1e-3 * saved);
  EXPECT_GT(first_loss({}), 1.5 * saved);
  expect_sentence(run({"train", "--model", "linear", "--load", file}), 2);
  const Finished missing = run(small_train({"--load", (folder / "none").string()}));
  expect_sentence(missing, 2);
  EXPECT_THAT(missing.err, testing::StartsWith("sweetspot: "));  // before it says what it trains
}

TEST(Train, AnUnusablePlaceToSaveIsToldBeforeTraining) {
  const TemporaryFolder folder;
  const Finished finished = run(small_train({"--save", (folder / "missing/weights").string()}));
  expect_sentence(finished, 2);
  EXPECT_EQ(finished.err, last_sentence(finished) + "\n") << "and nothing else";
}

TEST(Train, AFullDiskOnSaveLeavesNothingBehind) {
  const TemporaryFolder folder;
  Launch launch;
  launch.arguments = {"train", "--data", "synthetic:100", "--max-steps",
                      "1",     "--json", "--save",        (folder / "weights").string()};
  launch.file_size_limit = 100'000;
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_WORDS(last_sentence(finished));
  EXPECT_TRUE(fs::is_empty(folder.path()));

  const Finished device = run(small_train({"--max-steps", "1", "--save", "/dev/full"}));
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_WORDS(last_sentence(device));
}

TEST(Train, ADivergingLossStopsAndSaysWhere) {
  const TemporaryFolder folder;
  const std::string file = (folder / "weights").string();
  const Finished finished =
      run(small_train({"--optimizer", "sgd", "--lr", "1000000", "--json", "--save", file}));
  EXPECT_EQ(finished.exit_code, 2);
  Json json = json_of(finished);
  EXPECT_EQ(json["status"], "diverged");
  EXPECT_THAT(last_sentence(finished), HasSubstr("step " + json["steps"].dump() + " "));
  EXPECT_WORDS(without_numbers(last_sentence(finished)));
  EXPECT_FALSE(fs::exists(file));
}

TEST(Train, CtrlCPrintsTheTableSoFar) {
  Launch launch;
  launch.arguments =
      small_train({"--epochs", "100000", "--batch", "50", "--load-delay", "10ms/batch"});
  launch.signal_when_seen = "|        2 |";
  launch.signal = SIGINT;
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(column_of(finished.out).front(), "1");
}

TEST(Train, SignalsInTheFirstEpochStillGiveTheJson) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Launch launch;
    launch.arguments =
        small_train({"--batch", "1", "--epochs", "100000", "--load-delay", "10ms/batch", "--json"});
    launch.signal_when_seen = "training mlp";
    launch.signal = signal;
    const Finished finished = run(launch);
    EXPECT_EQ(finished.exit_code, 128 + signal) << finished.err;
    EXPECT_EQ(json_of(finished)["status"], "cancelled");
  }
}

// Once the process has taken the one before: a signal that is still pending comes only once.
void terminate(pid_t process) {
  kill(process, SIGTERM);
  const std::string status = "/proc/" + std::to_string(process) + "/status";
  const auto pending = [&] {
    std::ifstream file(status);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("State:\tZ")) return false;  // it ended before: it stays pending
      if (line.starts_with("ShdPnd:")) return line.find_first_of("123456789abcdef", 7) != line.npos;
    }
    return false;
  };
  while (pending()) std::this_thread::yield();
}

TEST(Train, ASecondSigtermDoesNotKillIt) {
  Launch launch;
  launch.arguments =
      small_train({"--batch", "1", "--epochs", "100000", "--load-delay", "10ms/batch", "--json"});
  launch.signal_when_seen = "training mlp";
  launch.cues = {{"training mlp", [](pid_t process) { terminate(process), terminate(process); }}};
  const Finished finished = run(launch);
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "cancelled");
}

TEST(Train, ASignalEndsAWaitForSlowStorage) {
  for (const char* workers : {"0", "2"}) {
    Launch launch;
    launch.arguments = small_train({"--workers", workers, "--load-delay", "1h", "--json"});
    launch.signal_when_seen = "training mlp";
    launch.signal = SIGTERM;
    const Finished stopped = run(launch);
    EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
    EXPECT_EQ(json_of(stopped)["status"], "cancelled");
  }
}

TEST(Train, ALiveLineOnATerminalOnly) {
  Launch launch;
  launch.arguments = small_train({"--epochs", "1", "--batch", "5", "--load-delay", "5ms/batch"});
  launch.terminal = true;
  launch.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
  const std::string coloured = run(launch).err;
  EXPECT_THAT(coloured, HasSubstr("\r\033[K\033[36m"));
  launch.environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}};
  const std::string plain = run(launch).err;
  EXPECT_THAT(plain, AllOf(HasSubstr("\r\033[K"), Not(HasSubstr("\033[36m"))));
  launch.environment = {{"TERM", "dumb"}};
  EXPECT_THAT(found_in(run(launch).err, {"\033"}), IsEmpty());
  launch.terminal = false;
  launch.environment = {{"TERM", "xterm"}};
  EXPECT_THAT(found_in(run(launch).err, {"\033"}), IsEmpty());
}

}  // namespace
}  // namespace sweetspot::tests
