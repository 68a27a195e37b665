// Device-resident data sets: what is known without a GPU.
#include "workload/native/resident.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "data/loader.h"
#include "workload/native/data_choice.h"
#include "workload/native/memory.h"

namespace sweetspot::workload::native {
namespace {

using engine::cuda::Split;

Options gpu_run(const std::string& model, core::Bytes memory = 100 * core::GiB) {
  Options options;
  options.model = model;
  options.data = "synthetic:100";
  options.pipeline.batch = 10;
  options.device = {0, "some GPU", memory};
  return options;
}

core::Bytes uploaded(const data::Samples& s, Split split) {
  return engine::cuda::resident_bytes(
      {static_cast<std::int64_t>(s.count), s.bytes, s.floats, s.labels, s.targets}, split);
}

class Resident : public testing::TestWithParam<const char*> {};

TEST_P(Resident, TakesWhatUploadingTakes) {
  Options options = gpu_run(GetParam());
  const native::Run run = open(options, [](std::string_view) {});
  EXPECT_EQ(resident_bytes(options, run.dataset),
            uploaded(run.dataset.train, Split::train) + uploaded(run.dataset.test, Split::test));
  options.evaluate = false;
  EXPECT_EQ(resident_bytes(options, run.dataset), uploaded(run.dataset.train, Split::train));
}

TEST_P(Resident, IsKnownFromADescription) {
  const Options options = gpu_run(GetParam());
  const native::Run run = open(options, [](std::string_view) {});
  const data::Dataset described = describe_data(options.data, run.network, run.trainer.loss);
  EXPECT_EQ(resident_bytes(options, described), resident_bytes(options, run.dataset));
}

// Bytes and labels, floats and targets.
INSTANTIATE_TEST_SUITE_P(Models, Resident, testing::Values("small-cnn", "mlp", "rgb64-cnn"));

TEST(ResidentRule, HalfOfTheGpuAndNothingDoneToTheSamples) {
  Options options = gpu_run("small-cnn");
  const native::Run run = open(options, [](std::string_view) {});
  EXPECT_TRUE(is_resident(options, run.dataset));
  options.device.memory = 2 * resident_bytes(options, run.dataset);
  EXPECT_TRUE(is_resident(options, run.dataset));
  --options.device.memory;
  EXPECT_FALSE(is_resident(options, run.dataset));

  options = gpu_run("small-cnn");
  options.pipeline.augment_shift = true;
  EXPECT_FALSE(is_resident(options, run.dataset));
  options = gpu_run("small-cnn");
  options.pipeline.delay.duration = core::Seconds(0.001);
  EXPECT_FALSE(is_resident(options, run.dataset));
  options = gpu_run("small-cnn");
  options.device = {};
  EXPECT_FALSE(is_resident(options, run.dataset));
}

TEST(ResidentRule, MemoryCountsTheDataSetWhereItStays) {
  const Options options = gpu_run("small-cnn");
  const native::Run run = open(options, [](std::string_view) {});
  Options fed = options;
  fed.pipeline.augment_shift = true;
  try {
    const auto stays = predict(run.network, options, run.dataset),
               comes = predict(run.network, fed, run.dataset);
    EXPECT_EQ(stays[core::Use::input],
              comes[core::Use::input] + resident_bytes(options, run.dataset));
    EXPECT_EQ(stays[core::Use::activations], comes[core::Use::activations]);
  } catch (const core::InputError& built_without) {
    GTEST_SKIP() << built_without.what();
  }
}

TEST(Orders, AreThePipelinesEpochByEpoch) {
  data::PipelineOptions options;
  Orders orders(100, options);
  std::vector<std::uint32_t> expected(100);
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
    const auto order = orders.at(epoch);
    orders.at(epoch + 1);  // made ahead: does not change this one
    data::shuffle(expected, options.seed, epoch);
    EXPECT_TRUE(std::ranges::equal(order, expected)) << epoch;
  }
}

TEST(Orders, WithoutShufflingAreAsTheyAre) {
  data::PipelineOptions options;
  options.shuffle = false;
  Orders orders(10, options);
  for (const std::uint32_t epoch : {0u, 1u, 2u}) {
    const auto order = orders.at(epoch);
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(order[i], i);
  }
}

}  // namespace
}  // namespace sweetspot::workload::native
