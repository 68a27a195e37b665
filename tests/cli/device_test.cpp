// --device and --precision through the real binary, on a machine without a GPU: CUDA is shown none.
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

Finished without_gpu(std::vector<std::string> arguments) {
  Launch launch;
  launch.arguments = std::move(arguments);
  launch.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}};
  return run(launch);
}

// A CPU with nothing but what every one has.
Finished without_bf16(std::vector<std::string> arguments) {
  Launch launch;
  launch.arguments = std::move(arguments);
  launch.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}, {"SWEETSPOT_ISA", "generic"}};
  return run(launch);
}

bool has_bf16() { return !json_of(without_gpu({"doctor", "--json"}))["bf16"].is_null(); }

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> arguments{"train",         "--model", "mlp",         "--data",
                                     "synthetic:100", "--json",  "--max-steps", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(DeviceFlag, AutoTakesTheCpuWhereThereIsNoGpu) {
  for (const char* precision : {"fp32", "auto"}) {
    const Finished finished = without_gpu(small({"--device", "auto", "--precision", precision}));
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    Json json = json_of(finished);
    EXPECT_EQ(json["device"], "cpu");
    EXPECT_EQ(json["setting"]["precision"], "fp32");
    EXPECT_EQ(json["environment"]["device"], "cpu");
    EXPECT_TRUE(json["environment"]["gpu"].is_null());
  }
}

TEST(DeviceFlag, AGpuThatIsNotThereIsASentence) {
  const TemporaryFolder folder;
  const std::string db = "sqlite:" + (folder / "s.db").string();
  const std::vector<std::vector<std::string>> commands{
      small({}), {"tune", "--model", "mlp", "--db", db}, {"memory"}, {"profile"}};
  for (const char* device : {"cuda", "cuda:5"})
    for (std::vector<std::string> command : commands) {
      command.insert(command.end(), {"--device", device});
      expect_sentence(without_gpu(command), 2, "; ");  // what is wrong; the way out
    }
}

TEST(DeviceFlag, UnknownWordsAreTold) {
  expect_sentence(without_gpu(small({"--device", "tpu"})), 2);
  expect_sentence(without_gpu(small({"--device", "cuda:x"})), 2);
  expect_sentence(without_gpu(small({"--precision", "int8"})), 2);
}

TEST(PrecisionFlag, TheCpuHasFp32AndPerhapsBf16) {
  for (const char* precision : {"tf32", "fp16"})
    expect_sentence(without_gpu(small({"--device", "cpu", "--precision", precision})), 2,
                    precision);
  expect_sentence(without_bf16(small({"--device", "cpu", "--precision", "bf16"})), 2);
  const TemporaryFolder folder;
  const std::string db = "sqlite:" + (folder / "s.db").string();
  const Finished sweep =
      without_bf16({"sweep", "--model", "mlp", "--data", "synthetic:100", "--device", "cpu",
                    "--precision", "fp32,bf16", "--batch", "8", "--db", db});
  expect_sentence(sweep, 2);
}

TEST(PrecisionFlag, AutoSaysWhyTheCpuStaysInFp32) {
  const Finished finished = without_bf16(small({"--device", "cpu", "--precision", "auto"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  Json json = json_of(finished);
  EXPECT_EQ(json["setting"]["precision"], "fp32");
  EXPECT_WORDS(json["setting"]["precision_reason"].get<std::string>());
  EXPECT_TRUE(json_of(without_bf16({"doctor", "--json"}))["bf16"].is_null());
}

TEST(PrecisionFlag, Bf16OnACpuIsTrainedPlannedProfiledAndStored) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no bf16";
  const TemporaryFolder folder;
  const std::string db = "sqlite:" + (folder / "s.db").string();
  const std::vector<std::string> workload{"--model",       "paper-cnn", "--data",
                                          "synthetic:256", "--device",  "cpu",
                                          "--precision",   "bf16",      "--json"};
  const auto asked = [&](std::vector<std::string> command, std::vector<std::string> more) {
    command.insert(command.end(), workload.begin(), workload.end());
    command.insert(command.end(), more.begin(), more.end());
    const Finished finished = without_gpu(command);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json_of(finished);
  };
  const Json trained = asked({"train", "--batch", "64", "--max-steps", "2"}, {});
  EXPECT_EQ(trained["setting"]["precision"], "bf16");
  EXPECT_TRUE(trained["setting"]["precision_reason"].is_null());
  EXPECT_EQ(trained["memory_bytes"]["predicted"], trained["memory_bytes"]["measured"]);
  const Json profiled = asked({"profile", "--batch", "64", "--steps", "3"}, {});
  EXPECT_EQ(profiled["profiles"][0]["setting"]["precision"], "bf16");
  EXPECT_THAT(profiled["profiles"][0]["operations"].dump(), HasSubstr("bf16"));
  const Json swept = asked({"sweep", "--batch", "64", "--db", db}, {});
  EXPECT_EQ(swept["trials"][0]["setting"]["precision"], "bf16");
}

TEST(PrecisionFlag, Bf16ThatChangesNoLayerIsCalledFp32) {
  if (!has_bf16()) GTEST_SKIP() << "this CPU has no bf16";
  const Finished finished = without_gpu(small({"--device", "cpu", "--precision", "bf16"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json setting = json_of(finished)["setting"];
  EXPECT_EQ(setting["precision"], "fp32");
  EXPECT_TRUE(setting["precision_reason"].is_string());
}

TEST(PrecisionFlag, IsAPlaceholderOfAProgram) {
  const Finished plan =
      run({"tune", "--dry-run", "--precision", "amp", "--", "true", "{batch}", "{precision}"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("true 1 amp"));
  const TemporaryFolder folder;
  expect_sentence(run({"tune", "--db", "sqlite:" + (folder / "s.db").string(), "--precision",
                       "auto", "--", "true", "{batch}"}),
                  2);
}

TEST(MemoryOfAGpu, IsPlannedWithoutOne) {
  const Finished finished = without_gpu({"memory", "--model", "rgb64-cnn", "--device", "cuda",
                                         "--limit", "4GiB", "--batch", "16,32", "--json"});
  if (finished.err.find("without the CUDA toolkit") != std::string::npos)
    GTEST_SKIP() << finished.err;
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  Json json = json_of(finished);
  EXPECT_EQ(json["device"], "cuda:0");
  EXPECT_EQ(json["data_on_device"], true);
  EXPECT_GT(json["largest_batch"], 32);
  EXPECT_GT(json["rows"][1]["activations_bytes"], json["rows"][0]["activations_bytes"]);
}

TEST(Doctor, SaysWhyNoGpuIsUsed) {
  const Finished finished = without_gpu({"doctor", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  Json cuda = json_of(finished)["cuda"];
  EXPECT_TRUE(cuda["devices"].empty());
  EXPECT_TRUE(cuda["reason"].is_string());
  EXPECT_THAT(without_gpu({"doctor"}).out, HasSubstr(cuda["reason"].get<std::string>()));
}

TEST(Force, LaunchesWhatIsPredictedNotToFit) {
  const TemporaryFolder folder;
  const auto outcome = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"sweep",
                                       "--model",
                                       "mlp",
                                       "--data",
                                       "synthetic:100",
                                       "--batch",
                                       "64",
                                       "--memory-limit",
                                       "1KiB",
                                       "--device",
                                       "cpu",
                                       "--json",
                                       "--db",
                                       "sqlite:" + (folder / "s.db").string(),
                                       "--fresh"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json_of(run(arguments))["trials"][0]["outcome"];
  };
  EXPECT_EQ(outcome({}), "refused");
  EXPECT_EQ(outcome({"--force"}), "ok");
}

}  // namespace
}  // namespace sweetspot::tests
