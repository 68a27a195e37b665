#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

core::MemoryByUse difference(const core::MemoryByUse& after, const core::MemoryByUse& before) {
  core::MemoryByUse out;
  for (std::size_t i = 0; i < core::use_count; ++i) out.bytes[i] = after.bytes[i] - before.bytes[i];
  return out;
}

TEST(Memory, PredictedToTheByteForEachModelBatchAndOptimizer) {
  std::vector<std::string> names = model::zoo_names();
  for (const char* name :
       {"decoder", "few-channels", "few-positions", "flat-filters", "functions", "kernel-parts",
        "minimal-filtering", "mobile", "norm-blocks", "penalties", "sequence", "small-images",
        "to-few-channels", "transposed"})
    names.push_back(golden_path("models/" + std::string(name) + ".json"));
  for (const std::string& name : names)
    for (const std::int64_t micro_batch : {1, 7, 64})
      for (const Optimizer::Kind kind :
           {Optimizer::Kind::sgd, Optimizer::Kind::momentum, Optimizer::Kind::adam}) {
        const model::Network network = model::load_network(name);
        TrainerOptions options;
        options.loss = model::natural_loss(network);
        options.optimizer.kind = kind;
        options.threads = 3;
        const core::MemoryByUse before = core::live_buffers();
        const core::MemoryByUse predicted =
            cpu::plan(network, options, micro_batch, false)->memory();
        EXPECT_EQ(core::live_buffers(), before) << "planning allocated something";
        const auto trainer = cpu::make_trainer(network, options);
        trainer->prepare(micro_batch);
        EXPECT_EQ(difference(core::live_buffers(), before), predicted)
            << name << " at " << micro_batch;

        const GoldenBatch batch(network, options.loss != model::Loss::mean_squared_error,
                                micro_batch, 0);
        trainer->step(batch.view(), micro_batch);
        trainer->evaluate(batch.view());
        EXPECT_EQ(difference(core::live_buffers(), before),
                  cpu::plan(network, options, micro_batch, true)->memory())
            << name << " at " << micro_batch << " with evaluation";
      }
}

class FlattenedFirst : public ::testing::TestWithParam<const char*> {};

// An image's channels are padded to 16; one that is flattened at once is a vector, and so are the
// weights after it.
TEST_P(FlattenedFirst, AnImageIsNotPadded) {
  const auto mlp = [](const std::string& input) {
    return model::read_keras(
        R"({"class_name": "Sequential", "config": {"name": "mlp", "layers": [
        {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": )" +
            input + "}}," + GetParam() + R"(
        {"class_name": "Flatten", "config": {"name": "f"}},
        {"class_name": "Dense", "config": {"name": "a", "units": 33, "activation": "relu"}},
        {"class_name": "Dense", "config": {"name": "b", "units": 5, "activation": "softmax"}}]}})",
        "mlp.json");
  };
  const model::Network image = mlp("[null, 9, 11, 3]"), vector = mlp("[null, 297]");
  EXPECT_EQ(cpu::plan(image, {}, 7, true)->memory(), cpu::plan(vector, {}, 7, true)->memory());
  const auto of_images = cpu::make_trainer(image, {}), of_vectors = cpu::make_trainer(vector, {});
  const GoldenBatch images(image, true, 7, 0), vectors(vector, true, 7, 0);
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(of_images->step(images.view(), 7).loss, of_vectors->step(vectors.view(), 7).loss);
  const std::vector<Variable> a = of_images->variables(), b = of_vectors->variables();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].values, b[i].values);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, FlattenedFirst,
    ::testing::Values(
        "",
        R"({"class_name": "Rescaling", "config": {"name": "r", "scale": 0.25, "offset": -1}},)"),
    [](const auto& one) { return std::string(*one.param ? "after_rescaling" : "at_once"); });

// The weights of a dense layer after an image of 19 channels have no rows for 13 more.
TEST(Memory, AFlattenedImageIsClosedUpForADenseLayer) {
  const auto weights = [](int filters) {
    const model::Network network = model::read_keras(
        R"({"class_name": "Sequential", "config": {"name": "closed", "layers": [
        {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 22, 20, 3]}},
        {"class_name": "Conv2D", "config": {"name": "c", "kernel_size": [3, 3], "filters": )" +
            std::to_string(filters) + R"(}},
        {"class_name": "Flatten", "config": {"name": "f"}},
        {"class_name": "Dense", "config": {"name": "d", "units": 64, "activation": "softmax"}}]}})",
        "closed.json");
    return cpu::plan(network, {}, 4, false)->memory()[core::Use::weights];
  };
  const core::Bytes rows = 20 * 18 * 64 * sizeof(float);  // of a channel
  EXPECT_NEAR(static_cast<double>(weights(19)), 19. * rows, .02 * rows * 19);
  EXPECT_NEAR(static_cast<double>(weights(30)), 32. * rows, .02 * rows * 32) << "little waste";
}

TEST(Memory, GrowsWithTheBatch) {
  const model::Network network = model::load_network("paper-cnn");
  core::Bytes last = 0;
  for (std::int64_t micro_batch = 1; micro_batch < 200; micro_batch += 3) {
    const core::Bytes now = cpu::plan(network, {}, micro_batch, false)->memory().total();
    EXPECT_GT(now, last) << micro_batch;
    last = now;
  }
}

TEST(Memory, ReleasedPlansGiveBackTheirArena) {
  const model::Network network = model::load_network("small-cnn");
  const auto trainer = cpu::make_trainer(network, {});
  const core::MemoryByUse before = core::live_buffers();
  trainer->prepare(32);
  EXPECT_NE(core::live_buffers(), before);
  trainer->release(32);
  EXPECT_EQ(core::live_buffers(), before);
}

TEST(Memory, RefusesAnEmptyBatch) {
  const model::Network network = model::load_network("linear");
  EXPECT_THROW(cpu::plan(network, {}, 0, false), core::InputError);
}

}  // namespace
}  // namespace sweetspot::engine
