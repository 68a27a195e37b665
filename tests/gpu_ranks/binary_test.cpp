// The real binary with two ranks on one GPU; needs no mpirun around it.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/support.h"
#include "collective/launcher.h"
#include "engine_cuda/gpu.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using Json = nlohmann::ordered_json;

class GpuRanksBinary : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    if (collective::started_ranks()) GTEST_SKIP() << "it starts its own ranks";
  }
  Json run_here(std::vector<std::string> arguments, int exit_code = 0) const {
    Launch launch;
    launch.arguments = std::move(arguments);
    for (const char* word : {"--model", "small-cnn", "--data", "synthetic:4000", "--device", "cuda",
                             "--ranks", "2", "--json"})
      launch.arguments.emplace_back(word);
    launch.folder = folder_.path().string();
    const Finished finished = run(launch);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
    return json_of(finished);
  }
  TemporaryFolder folder_;
};

TEST_F(GpuRanksBinary, TrainsInEveryPrecision) {
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16"}) {
    const Json trained =
        run_here({"train", "--batch", "64", "--epochs", "1", "--precision", precision});
    EXPECT_EQ(trained["setting"]["ranks"], 2);
    EXPECT_EQ(trained["setting"]["gpu_sums"], "host_memory");
    EXPECT_EQ(trained["epochs"][0]["samples"], 4000) << "the last batch has 32: 16 each";
    EXPECT_EQ(trained["status"], "finished");
  }
}

TEST_F(GpuRanksBinary, MeasuresTheNoiseScale) {
  const Json trained = run_here({"train", "--batch", "64", "--max-steps", "400", "--epochs", "20",
                                 "--no-eval", "--noise-scale"});
  EXPECT_FALSE(trained["epochs"].back()["noise_scale"].is_null());
}

TEST_F(GpuRanksBinary, TunesWithItsScaling) {
  const Json tuned =
      run_here({"tune", "--max", "2048", "--no-report", "--lr-rule", "none", "--db", "tune.db"});
  const Json& made = tuned["recommendation"];
  EXPECT_EQ(made["ranks"], 2);
  ASSERT_FALSE(made["scaling"].is_null());
  EXPECT_GT(made["scaling"]["efficiency_share"]["mean"], 0);
  for (const Json& trial : tuned["trials"]) EXPECT_EQ(trial["setting"]["batch"].get<int>() % 2, 0);
}

TEST_F(GpuRanksBinary, ProfilesWithItsWait) {
  const Json profiled = run_here({"profile", "--batch", "64,256", "--steps", "5"});
  ASSERT_EQ(profiled["profiles"].size(), 2u);
  for (const Json& profile : profiled["profiles"]) {
    EXPECT_EQ(profile["setting"]["ranks"], 2);
    EXPECT_GT(profile["reduction_wait_seconds"], 0);
  }
}

}  // namespace
}  // namespace sweetspot::tests
