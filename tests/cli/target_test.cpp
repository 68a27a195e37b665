// tune --for accuracy=… through the real binary, on fakes in virtual time and on a program.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using testing::HasSubstr;
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
  EXPECT_THAT(finished.out, StartsWith("Train with batch "));
  EXPECT_THAT(finished.out, HasSubstr(": 99% in "));
  EXPECT_THAT(finished.out, HasSubstr("3 of 3"));
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
  EXPECT_THAT(finished.out, StartsWith("99.9% was not reached within the budget; best was 98.7%"));
}

TEST_F(TuneToTarget, ALearningRateThatDivergesTakesItsBatchOut) {
  const Finished finished =
      tune({"--for", "accuracy=0.99", "--lr-rule", "linear"}, learner + ",diverges-above=0.001");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("the loss was no number any more at step 3"));
  EXPECT_THAT(finished.out, StartsWith("Train with batch "));
}

TEST_F(TuneToTarget, AMetricThatNeverAppearsIsTold) {
  const Finished finished = tune({"--for", "loss=0.1"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("no run told its loss"));
}

TEST_F(TuneToTarget, RefusesWhatIsNoTarget) {
  expect_sentence(tune({"--for", "accuracy"}), 2, "write --for accuracy=0.99");
  expect_sentence(tune({"--for", "accuracy=150%"}), 2, "--for accuracy");
  expect_sentence(tune({"--for", "loss=-1"}), 2, "--for loss");
  expect_sentence(tune({"--for", "accuracy=0"}), 2, "above 0");
  expect_sentence(tune({"--for", "accuracy=0.99", "--no-eval"}), 2, "leave out --no-eval");
  expect_sentence(tune({"--for", "accuracy=0.99", "--lr-rule", "cubic"}), 2, "--lr-rule 'cubic'");
  expect_sentence(tune({"--for", "accuracy=0.99", "--global-batch", "64"}), 2, "--global-batch");
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
  write_file(folder / "tiny.json", R"({"class_name": "Sequential", "config": {"name": "tiny", "layers": [
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
