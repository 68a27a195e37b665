// tune --for accuracy=… through the real binary, on fakes in virtual time and on a program.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using testing::AllOf;
using testing::StartsWith;

// By its law batch 16 to 64 are about as fast to 99%: speed grows, and samples beyond 200 too.
const std::string learner =
    "fake:fixed=200us,sample=10us,samples=10000,learn-samples=20000,learn-critical=200";

struct TuneToTarget : testing::Test {
  TemporaryFolder folder;

  Finished tune(std::vector<std::string> more, const std::string& workload = learner) {
    Launch made;
    made.arguments = {"tune", "--no-report", "--max", workload.empty() ? "64" : "4096"};
    if (!workload.empty()) made.arguments.insert(made.arguments.end(), {"--workload", workload});
    made.arguments.insert(made.arguments.end(), more.begin(), more.end());
    made.environment = {{"SWEETSPOT_DB", ""}, {"LC_ALL", "C"}};
    made.folder = folder.path().string();
    return run(made);
  }
};

TEST_F(TuneToTarget, SaysWhichBatchIsThereFirst) {
  const Finished finished = tune({"--for", "accuracy=99%", "--lr-rule", "none"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_WORDS(without_numbers(finished.out.substr(0, finished.out.find('('))));
  const auto json = json_of(tune({"--for", "accuracy=0.99", "--lr-rule", "none", "--json"}));
  EXPECT_EQ(json["status"], "found");
  const auto& answer = json["time_to_target"];
  // (200 µs/B + 10 µs)(1 + B/200) is least at B = 63.
  EXPECT_GE(answer["batch"], 32);
  EXPECT_LE(answer["batch"], 128);
  EXPECT_GT(json["cost"]["resumed_trials"], 0) << "99% is 0.99: the same study";
  EXPECT_GT(answer["throughput_batch"], answer["batch"]);
}

TEST_F(TuneToTarget, ATargetThatIsNotReachedIsAnAnswer) {
  const Finished finished =
      tune({"--for", "accuracy=0.999", "--most-epochs", "30"}, learner + ",learn-best=98.7%");
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.out, AllOf(StartsWith("99.9%"), testing::HasSubstr("98.7%")));
  EXPECT_WORDS(without_numbers(finished.out.substr(0, finished.out.find('\n'))));
}

TEST_F(TuneToTarget, ALearningRateThatDivergesTakesItsBatchOut) {
  const Finished finished = tune({"--for", "accuracy=0.99", "--lr-rule", "linear", "--json"},
                                 learner + ",diverges-above=0.001");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  std::size_t diverged = 0;
  const auto answer = json_of(finished)["time_to_target"];
  EXPECT_FALSE(answer["batch"].is_null());
  for (const auto& row : answer["rows"])
    if (!row["failure"].is_null() && diverged++ == 0) {
      EXPECT_WORDS(row["failure"].get<std::string>());
    }
  EXPECT_GT(diverged, 0u);
}

TEST_F(TuneToTarget, AMetricThatNeverAppearsIsTold) {
  const Finished finished = tune({"--for", "loss=0.1"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_WORDS(last_sentence(finished));
}

TEST_F(TuneToTarget, RefusesWhatIsNoTarget) {
  expect_sentence(tune({"--for", "accuracy"}), 2);
  expect_sentence(tune({"--for", "accuracy=150%"}), 2);
  expect_sentence(tune({"--for", "loss=-1"}), 2);
  expect_sentence(tune({"--for", "accuracy=0"}), 2);
  expect_sentence(tune({"--for", "accuracy=0.99", "--no-eval"}), 2);
  expect_sentence(tune({"--for", "accuracy=0.99", "--lr-rule", "cubic"}), 2);
  expect_sentence(tune({"--for", "accuracy=0.99", "--global-batch", "64"}), 2);
}

// Learns by a law of its own: 1 ms and 20 µs a sample, 99% after 3,000 samples of small batches.
constexpr const char* program = R"(import sys, time
batch, seen = int(sys.argv[1]), 0
for step in range(1, 20000):
    time.sleep(0.0005 + 0.00002 * batch)
    seen += batch
    print(f"step {step}", flush=True)
    if step % max(1, 400 // batch) == 0:
        error = 0.1 / (1 + 9 * seen / (3000 * (1 + batch / 100)))
        print(f"epoch end: val_acc {100 * (1 - error):.3f}%", flush=True)
)";

TEST_F(TuneToTarget, TrainsAProgramToWhatItPrints) {
  write_file(folder / "train.py", program);
  const Finished finished =
      tune({"--for", "accuracy=0.98", "--seeds", "1", "--finalists", "2", "--min", "32", "--budget",
            "24s", "--batch-arrives", "--json", "--", "python3", "train.py", "{batch}"},
           "");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto answer = json_of(finished)["time_to_target"];
  ASSERT_FALSE(answer["batch"].is_null());
  EXPECT_TRUE(answer["learning_rate_rule"].get<std::string>().empty()) << "it has its own";
  for (const auto& row : answer["rows"])
    for (const auto& run : row["runs"])
      if (run["reached"]) {
        const double batch = row["batch"];
        const double truth = 3000 * (1 + batch / 100) * (0.1 / 0.02 - 1) / 9;
        EXPECT_NEAR(run["samples"].get<double>() / truth, 1, 0.4) << batch;
      }
}

// The rate that tune would recommend for speed is not the one it measured with.
TEST_F(TuneToTarget, TrainsANativeModel) {
  write_file(folder / "tiny.json",
             R"({"class_name": "Sequential", "config": {"name": "tiny", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [null, 12]}},
    {"class_name": "Dense", "config": {"name": "out", "units": 3, "activation": "softmax"}}]}})");
  const Finished finished =
      tune({"--model", "tiny.json", "--data", "synthetic:256", "--device", "cpu", "--for",
            "loss=1.5", "--seeds", "1", "--finalists", "1", "--min", "8", "--json"},
           "");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto answer = json_of(finished)["time_to_target"];
  EXPECT_FALSE(answer["batch"].is_null());
  EXPECT_EQ(answer["rows"].size(), 4U) << "8 to 64";
}

}  // namespace
}  // namespace sweetspot::tests
