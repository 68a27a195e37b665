// Batches that change, the critical batch and the ends of training, through the real binary.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "rendered.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> train_mlp(std::vector<std::string> more) {
  std::vector<std::string> arguments{"train",         "--model",  "mlp", "--data",
                                     "synthetic:500", "--device", "cpu"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(BatchSchedule, IsToldInTableAndJson) {
  const Finished finished = run(train_mlp({"--batch", "50@0,100@1", "--epochs", "2", "--json"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  EXPECT_EQ(json["setting"]["batch"], 50);
  EXPECT_EQ(json["setting"]["schedule"][1]["from_epoch"], 1);
  EXPECT_EQ(json["epochs"][0]["steps"], 10);
  EXPECT_EQ(json["epochs"][1]["steps"], 5);
  EXPECT_EQ(json["batches"][1]["batch"], 100);
  EXPECT_EQ(json["memory_bytes"]["predicted"], json["memory_bytes"]["measured"]);
  EXPECT_WORDS(finished.err.substr(0, finished.err.find("1 epoch") + 7));
  const std::string table = run(train_mlp({"--batch", "50@0,100@1", "--epochs", "2"})).out;
  EXPECT_THAT(column_of(table, 1), testing::ElementsAre("50", "100"));
}

TEST(BatchSchedule, BadOnesAreRefusedInOneSentence) {
  for (const char* batch :
       {"64@0,0@1", "64@0,32@2,16@1", "64@0,32@1,16@1", "64@0,501@1", "64@0,32@3", "dynamic:64..16",
        "dynamic:16..1000", "dynamic:16..9999999999", "many"})
    expect_sentence(run(train_mlp({"--batch", batch, "--epochs", "3"})), 2);
}

TEST(DynamicBatch, TrainsAndTellsItsLadder) {
  const Finished finished =
      run(train_mlp({"--batch", "dynamic:10..80", "--epochs", "2", "--json"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  EXPECT_EQ(json["batches"][0]["batch"], 10);
  EXPECT_FALSE(json["ladder"].empty());
  EXPECT_EQ(json["memory_bytes"]["predicted"], json["memory_bytes"]["measured"]);
  EXPECT_EQ(json["epochs"][1]["samples"], 500);
}

TEST(CriticalBatch, IsMeasuredStoredAndShown) {
  const TemporaryFolder folder;
  const std::string db = (folder / "trials.db").string();
  const std::vector<std::string> arguments{"tune",
                                           "--critical-batch",
                                           "--model",
                                           "mlp",
                                           "--data",
                                           "synthetic:2000",
                                           "--device",
                                           "cpu",
                                           "--min",
                                           "16",
                                           "--branch-samples",
                                           "1024",
                                           "--branch-seeds",
                                           "2",
                                           "--db",
                                           db,
                                           "--json"};
  const Finished finished = run(arguments);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = json_of(finished);
  EXPECT_EQ(json["status"], "found");
  EXPECT_EQ(json["branches"].size(), 4u) << "16 to 128: eight updates of 1,024 samples";
  EXPECT_EQ(json["branches"][0]["updates"], 64);
  EXPECT_EQ(json["branches"][3]["updates"], 8);
  EXPECT_TRUE(json["checkpoint"]["noise_scale"].contains("mean"));
  EXPECT_TRUE(json["critical_batch"]["batch"].is_number());
  EXPECT_EQ(json["cost"]["trials"], 8);
  const Json again = json_of(run(arguments));
  EXPECT_EQ(again["cost"]["trials"], 0);
  EXPECT_EQ(again["critical_batch"], json["critical_batch"]);
  EXPECT_EQ(again["branches"], json["branches"]);
  const Finished shown = run({"studies", "show", "1", "--db", db});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const Finished text =
      run({"tune", "--critical-batch", "--model", "mlp", "--data", "synthetic:2000", "--device",
           "cpu", "--min", "16", "--branch-samples", "1024", "--branch-seeds", "2", "--db", db});
  EXPECT_EQ(column_of(text.out).size(), 4u);
}

TEST(CriticalBatch, IsForOurOwnTraining) {
  for (const std::vector<std::string>& unrelated :
       {std::vector<std::string>{"--for", "max-batch"}, {"--global-batch", "64"}, {"--lr-check"}}) {
    std::vector<std::string> words{"tune", "--critical-batch", "--model", "mlp"};
    words.insert(words.end(), unrelated.begin(), unrelated.end());
    expect_sentence(run(words), 2);
  }
  expect_sentence(run({"tune", "--critical-batch", "--", "true", "{batch}"}), 2);
  expect_sentence(run({"tune", "--critical-batch", "--model", "mlp", "--data", "synthetic:100",
                       "--device", "cpu"}),
                  2);
  expect_sentence(run({"tune", "--critical-batch", "--model", "mlp", "--data", "synthetic:2000",
                       "--device", "cpu", "--min", "64", "--max", "64"}),
                  2);
}

TEST(Sharpness, IsAColumnOfASweepThatTrains) {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments{"sweep",
                                           "--model",
                                           "mlp",
                                           "--data",
                                           "synthetic:400",
                                           "--device",
                                           "cpu",
                                           "--batch",
                                           "20,100",
                                           "--epochs",
                                           "2",
                                           "--seeds",
                                           "2",
                                           "--sharpness",
                                           "--db",
                                           (folder / "trials.db").string()};
  const Finished finished = run(arguments);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(column_of(finished.out), testing::ElementsAre("20", "100", "batch", "20", "100"));
  std::vector<std::string> for_json = arguments;
  for_json.push_back("--json");
  const Json json = json_of(run(for_json));
  ASSERT_EQ(json["end_points"].size(), 2u);
  EXPECT_EQ(json["end_points"][0]["trials"], 2);
  EXPECT_TRUE(json["end_points"][0]["sharpness"]["mean"].is_number());
  EXPECT_TRUE(json["end_points"][0]["generalisation_gap"]["low"].is_number());
  EXPECT_EQ(json["trials"].size(), 4u);
  EXPECT_EQ(json["cost"]["trials"], 0) << "all of it was in the store";
  EXPECT_TRUE(json["trials"][0]["sharpness"].is_number());
  EXPECT_EQ(run({"sweep", "--sharpness"}).exit_code, 2) << "it needs --epochs";
}

}  // namespace
}  // namespace sweetspot::tests
