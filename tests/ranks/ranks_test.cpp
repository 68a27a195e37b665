// The real binary on ranks that a real mpirun started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// All floats of a safetensors file.
std::vector<float> weights_of(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t begin = sizeof header + header;
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(squares);
}

// The process of this rank among those that `launcher` started.
pid_t rank_below(pid_t launcher, int rank) {
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  const auto parent = [](pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto end = text.rfind(')');
    pid_t found = 0;
    if (end != std::string::npos) std::sscanf(text.c_str() + end + 1, " %*c %d", &found);
    return found;
  };
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1) continue;
    std::ifstream file(entry.path() / "environ");
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    if (environment.find(wanted + '\0') == std::string::npos) continue;
    for (pid_t at = pid; at > 1; at = parent(at))
      if (at == launcher) return pid;
  }
  return 0;
}

class Ranks : public testing::Test {
 protected:
  Launch launch(std::vector<std::string> arguments) const {
    Launch launch;
    launch.arguments = std::move(arguments);
    launch.folder = folder_.path().string();
    return launch;
  }
  // Small enough for 20 fast updates; with dropout, which must be the same on all ranks.
  static std::vector<std::string> training(const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",   "--model", "paper-cnn", "--data",    "synthetic:2000",
                                   "--batch", "32",      "--no-eval", "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Reports an epoch after every second update.
  static std::vector<std::string> endless() {
    return {"train",   "--data", "synthetic:64", "--batch", "32",       "--no-eval",
            "--ranks", "2",      "--threads",    "1",       "--epochs", "1000000"};
  }

  TemporaryFolder folder_;
};

TEST_F(Ranks, TrainAsOneWithTheSameBatch) {
  // Rounding decides when two values of a pooling window are nearly equal, and with Adam, on data
  // without anything to learn, it grows as large as any gradient.
  const std::vector<std::string> optimizer{"--optimizer", "momentum", "--lr", "0.01"};
  const auto save = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), optimizer.begin(), optimizer.end());
    more.insert(more.end(), {"--max-steps", "20", "--save", name, "--json"});
    const Finished finished = run(launch(training(more)));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json_of(finished);
  };
  const Json one = save("one", {});
  run(launch(training({"--max-steps", "1", "--lr", "1e-30", "--save", "initial"})));
  const std::vector<float> expected = weights_of(folder_ / "one");
  const double moved = distance(expected, weights_of(folder_ / "initial"));
  ASSERT_GT(moved, 0);
  for (const std::string ranks : {"2", "4"}) {
    const Json json = save(ranks, {"--ranks", ranks, "--bucket", "100KiB"});
    EXPECT_EQ(json["setting"]["ranks"], std::stoi(ranks));
    EXPECT_EQ(json["setting"]["micro_batch"], 32 / std::stoi(ranks));
    EXPECT_EQ(json["steps"], 20);
    EXPECT_EQ(json["epochs"][0]["samples"], 20 * 32);
    EXPECT_NEAR(json["epochs"][0]["train_loss"].get<double>(),
                one["epochs"][0]["train_loss"].get<double>(), 1e-4);
    EXPECT_EQ(json["memory_bytes"]["predicted"], json["memory_bytes"]["measured"]);
    EXPECT_LT(distance(weights_of(folder_ / ranks), expected), 1e-2 * moved) << ranks << " ranks";
  }
}

TEST_F(Ranks, EvaluateTogetherWhatOneEvaluates) {
  const auto accuracy = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",   "--model", "small-cnn", "--data", "synthetic:1001",
                                   "--batch", "26",      "--epochs",  "1",      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json json = json_of(run(launch(words)));
    return json["epochs"][0];
  };
  const Json one = accuracy({}), two = accuracy({"--ranks", "2"});
  EXPECT_EQ(one["samples"], 1001);
  EXPECT_EQ(two["samples"], 1001);  // the last batch has 13: 6 and 7
  EXPECT_TRUE(two["complete"]);
  EXPECT_NEAR(two["test_loss"].get<double>(), one["test_loss"].get<double>(), 1e-3);
  EXPECT_NEAR(two["test_accuracy"].get<double>(), one["test_accuracy"].get<double>(), 0.01);
}

TEST_F(Ranks, OneThatIsKilledIsNamedAndEndsAll) {
  Launch asked = launch(endless());
  asked.cues.push_back({"|        3 |", [](pid_t pid) {
                          const pid_t rank = rank_below(pid, 1);
                          ASSERT_GT(rank, 0) << "no rank 1 was found";
                          kill(rank, SIGKILL);
                        }});
  const auto start = std::chrono::steady_clock::now();
  const Finished finished = run(asked);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(2)) << "it hung";
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_WORDS(last_sentence(finished));
  EXPECT_THAT(finished.err, Not(HasSubstr("mpirun"))) << "one sentence tells it";
}

TEST_F(Ranks, StopTogetherAndSaveWhatTheyHave) {
  Launch asked = launch(endless());
  asked.arguments.insert(asked.arguments.end(), {"--save", "weights", "--json"});
  asked.signal_when_seen = "|        3 |";
  asked.signal = SIGINT;
  const Finished finished = run(asked);
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(json_of(finished)["status"], "cancelled");
  EXPECT_FALSE(weights_of(folder_ / "weights").empty());
}

TEST_F(Ranks, UpdateAsynchronouslyWithTheirStaleness) {
  const Finished finished =
      run(launch({"train", "--model", "small-cnn", "--data", "synthetic:2000", "--batch", "20",
                  "--epochs", "2", "--ranks", "2", "--asynchronous", "--threads", "1", "--json"}));
  const Json json = json_of(finished);
  EXPECT_EQ(json["steps"], 200);
  EXPECT_EQ(json["setting"]["micro_batch"], 20);
  for (const Json& epoch : json["epochs"]) {
    EXPECT_EQ(epoch["samples"], 2000);
    EXPECT_EQ(epoch["steps"], 100);
    EXPECT_TRUE(epoch["complete"]);
  }
  const auto staleness = json["staleness"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(std::accumulate(staleness.begin(), staleness.end(), std::int64_t{0}), 200);
  EXPECT_LT(json["epochs"][1]["train_loss"], json["epochs"][0]["train_loss"]);
  EXPECT_EQ(json["memory_bytes"]["predicted"], json["memory_bytes"]["measured"]);
}

// As in a cluster job: only the launcher's variables connect them. The output of one rank.
class JoinedRanks : public Ranks {
 protected:
  Json joined(const std::string& arguments) const {
    const std::string command = "cd " + folder_.path().string() + " && " + mpirun_ +
                                " -n 2 " SWEETSPOT_BINARY " " + arguments + " --json >out 2>err";
    EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "err");
    return Json::parse(read_file(folder_ / "out"), nullptr, false);
  }

  const std::string mpirun_ =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --mca plm "
      "isolated --mca mpi_yield_when_idle 1";
};

TEST_F(JoinedRanks, TrainAsMpirunStartedThem) {
  const Json json = joined(
      "train --model small-cnn --data synthetic:500 --batch 20 --max-steps 5 --no-eval "
      "--threads 1");
  EXPECT_EQ(json["setting"]["ranks"], 2);
  EXPECT_EQ(json["epochs"][0]["samples"], 100);
}

TEST_F(JoinedRanks, OneThatFailsEndsTheOthers) {
  const std::string one = " -n 1 " SWEETSPOT_BINARY
                          " train --data synthetic:64 --batch 32 --no-eval --threads 1 --epochs "
                          "1000000 --model ";
  const std::string command = "cd " + folder_.path().string() + " && " + mpirun_ + one +
                              "small-cnn :" + one + "nothing >out 2>err";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1)) << "it hung";
  EXPECT_THAT(read_file(folder_ / "err"), HasSubstr("rank 1: "));
}

TEST_F(JoinedRanks, TuneAndProfileAsTheyWereStarted) {
  const Json tuned = joined(
      "tune --model small-cnn --data synthetic:2000 --threads 1 --min 32 "
      "--max 32 --no-report --lr-rule none --db tune.db");
  EXPECT_EQ(tuned["recommendation"]["ranks"], 2);
  const Json profiled = joined(
      "profile --model small-cnn --data synthetic:500 --batch 8,32 "
      "--steps 3 --threads 1");
  ASSERT_EQ(profiled["profiles"].size(), 2u);
  for (const Json& profile : profiled["profiles"]) {
    EXPECT_EQ(profile["setting"]["ranks"], 2);
    EXPECT_EQ(profile["setting"]["micro_batch"], profile["setting"]["batch"].get<int>() / 2);
    EXPECT_EQ(profile["steps"], 3);
    EXPECT_GE(profile["reduction_wait_seconds"], 0);
  }
}

TEST_F(Ranks, TuneTheBatchOfAllOfThem) {
  const Finished finished =
      run(launch({"tune",        "--model",   "small-cnn", "--data", "synthetic:2000",
                  "--ranks",     "2",         "--threads", "1",      "--accumulation",
                  "2",           "--min",     "60",        "--max",  "64",
                  "--no-report", "--lr-rule", "none",      "--db",   "tune.db",
                  "--json"}));
  const Json json = json_of(finished);
  const Json& made = json["recommendation"];
  EXPECT_EQ(made["ranks"], 2);
  EXPECT_EQ(made["accumulation"], 2);
  EXPECT_EQ(made["batch"].get<int>(), 2 * 2 * made["micro_batch"].get<int>());
  EXPECT_THAT(made["command"].get<std::string>(), HasSubstr("--ranks 2"));
  for (const Json& trial : json["trials"])
    EXPECT_EQ(trial["setting"]["batch"].get<int>() % 4, 0) << trial["setting"];
  ASSERT_FALSE(made["scaling"].is_null()) << finished.err;
  EXPECT_GT(made["scaling"]["efficiency_share"]["mean"], 0);
  // The ranks of a machine together: at least twice what one takes for the same part of a batch.
  const Json alone =
      json_of(run(launch({"train", "--model", "small-cnn", "--data", "synthetic:2000", "--batch",
                          std::to_string(made["batch"].get<int>() / 2), "--accumulation", "2",
                          "--threads", "1", "--max-steps", "1", "--json"})));
  EXPECT_GE(made["memory_bytes"].get<double>(),
            1.5 * alone["memory_bytes"]["predicted"].get<double>());
}

// Predictions for ranks on this machine come from a few measured steps.
TEST_F(Ranks, APlanMakesAFewStepsOfThoseThatCanBeStarted) {
  const Json json =
      json_of(run(launch({"tune", "--model", "small-cnn", "--data", "synthetic:2000", "--threads",
                          "1", "--min", "64", "--max", "64", "--no-report", "--lr-rule", "none",
                          "--db", "tune.db", "--plan-ranks", "2,1000", "--json"})));
  const Json& plan = json["rank_plan"];
  ASSERT_EQ(plan["machine"]["steps"].size(), 1u) << plan;  // 1000 are not started
  const Json& steps = plan["machine"]["steps"][0];
  EXPECT_EQ(steps["ranks"], 2);
  EXPECT_EQ(steps["micro_batch"], 64);
  const Json& two = plan["rows"][0];
  const double alone =
      two["predicted_step_seconds"].get<double>() * two["predicted_efficiency"].get<double>();
  EXPECT_NEAR(two["predicted_step_seconds"].get<double>(),
              steps["times_alone"].get<double>() * alone + steps["sums_seconds"].get<double>(),
              1e-9);
}

TEST_F(Ranks, OneThatIsKilledEndsTheStudyToo) {
  Launch asked = launch({"tune", "--data", "synthetic:2000", "--ranks", "2", "--threads", "1",
                         "--max", "64", "--budget", "5m", "--verbose", "--db", "tune.db"});
  asked.cues.push_back({"batch", [](pid_t pid) {
                          const pid_t rank = rank_below(pid, 1);
                          ASSERT_GT(rank, 0) << "no rank 1 was found";
                          kill(rank, SIGKILL);
                        }});
  const Finished finished = run(asked);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_WORDS(last_sentence(finished));
}

TEST_F(Ranks, WhatCannotBeIsSaidOnceBeforeTheyStart) {
  expect_sentence(run(launch(training({"--ranks", "3"}))), 2);
  expect_sentence(run(launch({"train", "--ranks", "2", "--batch", "dynamic"})), 2);
  expect_sentence(run(launch(training({"--ranks", "2", "--asynchronous", "--noise-scale"}))), 2);
  expect_sentence(run(launch(training({"--asynchronous"}))), 2);
  Launch without_mpirun = launch(training({"--ranks", "2"}));
  without_mpirun.environment["PATH"] = "/nowhere";
  expect_sentence(run(without_mpirun), 2);
  expect_sentence(run(launch(training({"--ranks", "0"}))), 2);
  expect_sentence(run(launch(training({"--ranks", "60000"}))), 2, "would take turns on");
  expect_sentence(run(launch({"tune", "--ranks", "2", "--for", "accuracy=0.9"})), 2);
  expect_sentence(run(launch({"tune", "--ranks", "2", "--", "python3", "train.py", "{batch}"})), 2);
  expect_sentence(run(launch({"profile", "--ranks", "2", "--batch", "7"})), 2);
  Launch torchrun = launch(training({}));
  torchrun.environment = {
      {"WORLD_SIZE", "2"}, {"RANK", "1"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29435"}};
  expect_sentence(run(torchrun), 2);
  Launch srun = launch(training({}));
  srun.environment = {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}};
  expect_sentence(run(srun), 2);
}

}  // namespace
}  // namespace sweetspot::tests
