// What is predicted before anything runs, and what a run then takes.
#include <nlohmann/json.hpp>

#include "cli/support.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* uses[] = {"weights",     "gradients", "optimizer",
                                "activations", "workspace", "input"};

Json memory(std::vector<std::string> more) {
  std::vector<std::string> arguments{"memory", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return json_of(run(arguments));
}

class ZooMemory : public testing::TestWithParam<const char*> {};

TEST_P(ZooMemory, WhatIsPredictedIsTakenToTheByte) {
  const std::string model = GetParam();
  Json predicted =
      memory({"--model", model, "--data", "synthetic:150", "--batch", "1,7,32,100"})["rows"];
  ASSERT_EQ(predicted.size(), 4u);
  for (Json& row : predicted) {
    SCOPED_TRACE(row["batch"].dump());
    const Finished finished = run({"train", "--model", model, "--data", "synthetic:150", "--batch",
                                   row["batch"].dump(), "--max-steps", "2", "--json"});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    Json taken = json_of(finished)["memory_bytes"];
    EXPECT_EQ(taken["predicted"], row["total_bytes"]);
    EXPECT_EQ(taken["measured"], row["total_bytes"]);
    for (const std::string use : uses) EXPECT_EQ(taken[use], row[use + "_bytes"]) << use;
  }
}
INSTANTIATE_TEST_SUITE_P(Zoo, ZooMemory,
                         testing::Values("paper-cnn", "small-cnn", "rgb64-cnn", "rgb128-cnn",
                                         "rgb128-cnn-slim", "linear", "mlp"));

TEST(Memory, EverySettingIsPredictedToTheByte) {
  const std::vector<std::vector<std::string>> settings = {{"--optimizer", "sgd"},
                                                          {"--optimizer", "nesterov"},
                                                          {"--loss", "categorical_crossentropy"},
                                                          {"--workers", "0"},
                                                          {"--prefetch", "5"},
                                                          {"--cache"},
                                                          {"--accumulation", "4"},
                                                          {"--no-eval"},
                                                          {"--threads", "1"},
                                                          {"--threads", "3"}};
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting.back());
    std::vector<std::string> planned = setting, trained{"train", "--max-steps", "2", "--json"};
    for (const char* argument :
         {"--model", "small-cnn", "--data", "synthetic:150", "--batch", "60"})
      planned.push_back(argument);
    trained.insert(trained.end(), planned.begin(), planned.end());
    Json row = memory(planned)["rows"][0], taken = json_of(run(trained))["memory_bytes"];
    EXPECT_EQ(taken["measured"], row["total_bytes"]);
    EXPECT_EQ(taken["predicted"], row["total_bytes"]);
  }
}

TEST(Memory, JsonHasItsForm) {
  Json json = memory({"--batch", "16..64*2", "--limit", "4GiB"});
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["model"], "paper-cnn");
  EXPECT_EQ(json["limit_bytes"], 4294967296);
  ASSERT_EQ(json["rows"].size(), 3u);
  Json& row = json["rows"][2];
  EXPECT_EQ(row["batch"], 64);
  std::uint64_t sum = 0;
  for (const std::string use : uses) sum += row[use + "_bytes"].get<std::uint64_t>();
  EXPECT_EQ(row["total_bytes"], sum);
}

TEST(Memory, TheLargestBatchFitsAndTheNextDoesNot) {
  const auto largest =
      memory({"--batch", "16", "--limit", "256MiB"})["largest_batch"].get<std::int64_t>();
  Json rows = memory({"--batch", std::to_string(largest) + "," + std::to_string(largest + 1),
                      "--limit", "256MiB"})["rows"];
  EXPECT_EQ(rows[0]["fits"], true);
  EXPECT_EQ(rows[1]["fits"], false);
  EXPECT_LE(rows[0]["total_bytes"], 256 << 20);
  EXPECT_GT(rows[1]["total_bytes"], 256 << 20);
}

TEST(Memory, NothingFits) {
  const Finished finished = run({"memory", "--batch", "16", "--limit", "1KiB", "--json"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_TRUE(json_of(finished)["largest_batch"].is_null());
}

TEST(Memory, WithoutALimitTheMachineIsAsked) {
  Json json = memory({"--batch", "16"});
  EXPECT_EQ(json["limit_source"], "machine");
  EXPECT_GT(json["limit_bytes"], 0);
}

TEST(Memory, AnAbsurdBatchIsPlannedOrRefusedButNeverACrash) {
  const Finished finished = run({"memory", "--batch", "1099511627776", "--limit", "4GiB"});
  EXPECT_TRUE(finished.exit_code == 0 || finished.exit_code == 2) << finished.exit_code;
}

TEST(Memory, OfABatchThatChangesIsRefused) {
  for (const char* batch : {"64@0,256@1", "dynamic", "dynamic:32..2048"}) {
    expect_sentence(run({"memory", "--model", "mlp", "--batch", batch}), 2);
  }
}

}  // namespace
}  // namespace sweetspot::tests
