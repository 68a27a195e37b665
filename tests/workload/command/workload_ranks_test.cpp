// Programs of several processes that train together, as started by torchrun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "temporary_folder.h"
#include "workload/command/template.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using trial::BatchIs;
using trial::Outcome;

struct Ranks : testing::Test {
  Ranks() {
    ::setenv("SWEETSPOT_NVML", FAKE_NVML, 1);
    ::setenv("FAKE_NVML_FOLDER", folder.path().c_str(), 1);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    for (const char* gpu : {"gpu0", "gpu1"}) std::filesystem::create_directory(folder / gpu);
  }
  ~Ranks() override {
    ::unsetenv("SWEETSPOT_NVML");
    ::unsetenv("FAKE_NVML_FOLDER");
  }
  tests::TemporaryFolder folder;
};

// Each takes a batch's memory on its own GPU, waits for the other, and counts the same steps.
const std::string two_ranks =
    "for RANK in 0 1; do export RANK WORLD_SIZE=2; sh -c '"
    "echo $((500000000 + {batch} * 10000000)) > $FAKE_NVML_FOLDER/gpu$RANK/$$; "
    ": > $FAKE_NVML_FOLDER/ready$RANK; "
    "until [ -e $FAKE_NVML_FOLDER/ready0 -a -e $FAKE_NVML_FOLDER/ready1 ]; do sleep 0.01; done; "
    "i=0; while :; do i=$((i+1)); echo \"[rank $RANK] step $i/100000\"; sleep 0.01; done' & "
    "done; wait";

TEST_F(Ranks, CountTheirStepsOnceAndTheirMemoryEach) {
  Options options;
  options.shell = true;
  options.argv = {two_ranks};
  options.gpus = 2, options.batch_is = BatchIs::per_gpu;
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(64));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.device, "cuda:0,1");
  ASSERT_THAT(trial.gpus, SizeIs(2));
  for (const trial::GpuUse& gpu : trial.gpus) {
    EXPECT_EQ(gpu.memory_peak, 500'000'000u + 32 * 10'000'000u) << gpu.device;
    EXPECT_EQ(gpu.memory_source, "NVML, of 1 process");
  }
  EXPECT_EQ(trial.memory_measured, 820'000'000u) << "the fullest, not all together";
  EXPECT_EQ(trial.samples_seen, 64 * (trial.steps + trial.warm_up_steps));
  // Counted twice it would be twice that; a busy machine only lowers it.
  EXPECT_LT(trial.samples_per_second->mean, 1.5 * 64 / 0.01);
}

TEST_F(Ranks, AClientMayCountItsOwnSamplesOrAll) {
  for (const char* told : {"{batch}", "48"}) {
    Options options = program("client.py", {told});
    options.environment.emplace_back("RANK", "0");
    options.environment.emplace_back("WORLD_SIZE", "2");
    options.gpus = 2, options.batch_is = BatchIs::per_gpu;
    CommandWorkload workload(options);
    const trial::Trial trial = measured(workload, at(48));
    ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
    EXPECT_EQ(trial.samples_seen, 48 * (trial.steps + trial.warm_up_steps)) << told;
  }
}

TEST_F(Ranks, AreAsManyAsTheGpusThatCanBeSeen) {
  Options options;
  options.argv = {"torchrun", "--nproc-per-node", "{gpus}", "train.py", "{batch}"};
  options.environment = {{"NPROC", "{gpus}"}};
  Options all = options;
  settle_gpus(all);
  EXPECT_EQ(all.gpus, 2);
  EXPECT_THAT(all.argv, ElementsAre("torchrun", "--nproc-per-node", "2", "train.py", "{batch}"));
  EXPECT_EQ(all.environment[0].second, "2");
  Options listed = options;
  listed.environment.emplace_back("CUDA_VISIBLE_DEVICES", "3,1,0");
  settle_gpus(listed);
  EXPECT_EQ(listed.argv[2], "3");
  Options asked = options;
  asked.gpus = 8;
  settle_gpus(asked);
  EXPECT_EQ(asked.argv[2], "8");
  Options none = options;
  none.environment.emplace_back("CUDA_VISIBLE_DEVICES", "");
  EXPECT_THROW(settle_gpus(none), core::InputError);
}

TEST_F(Ranks, AProgramWithoutThemIsNotAskedForGpus) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  Options options;
  options.argv = {"python3", "train.py", "{batch}"};
  settle_gpus(options);
  EXPECT_EQ(options.gpus, std::nullopt);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Handed, IsThePartOfEachGpuWhereTheBatchIsThat) {
  Options options;
  options.gpus = 4;
  EXPECT_EQ(handed(options, at(64)).batch, 64);
  options.batch_is = BatchIs::global;
  EXPECT_EQ(handed(options, at(64)).batch, 64);
  options.batch_is = BatchIs::per_gpu;
  trial::Setting setting = at(64);
  setting.accumulation = 2;
  EXPECT_EQ(handed(options, setting).batch, 16);
  EXPECT_EQ(handed(options, setting).micro_batch(), 8);
}

}  // namespace
}  // namespace sweetspot::workload::command
