// Convolutions by minimal filtering against direct ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/cpu/cpu.h"
#include "golden.h"
#include "near.h"

namespace sweetspot::engine::minimal_filtering {
namespace {

using namespace testing;
using nlohmann::json;

struct Shape {
  int height, width, channels, filters;
  int kernel_height, kernel_width, down, across;
  const char* padding;
};

void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.height << "x" << s.width << "x" << s.channels << " to " << s.filters << ", kernel "
       << s.kernel_height << "x" << s.kernel_width << ", strides " << s.down << "x" << s.across
       << ", " << s.padding;
}

// The convolution between one of 1×1, so that gradients pass through it, and a dense layer.
model::Network network(const Shape& s) {
  const json layers{
      {{"class_name", "InputLayer"},
       {"config", {{"batch_input_shape", {nullptr, s.height, s.width, 2}}, {"name", "input"}}}},
      {{"class_name", "Conv2D"},
       {"config",
        {{"name", "first"},
         {"filters", s.channels},
         {"kernel_size", {1, 1}},
         {"activation", "tanh"}}}},
      {{"class_name", "Conv2D"},
       {"config",
        {{"name", "tested"},
         {"filters", s.filters},
         {"kernel_size", {s.kernel_height, s.kernel_width}},
         {"strides", {s.down, s.across}},
         {"padding", s.padding},
         {"activation", "tanh"}}}},
      {{"class_name", "Flatten"}, {"config", {{"name", "flatten"}}}},
      {{"class_name", "Dense"},
       {"config", {{"name", "last"}, {"units", 3}, {"activation", "softmax"}}}}};
  const json model{{"class_name", "Sequential"},
                   {"config", {{"name", "parts"}, {"layers", layers}}},
                   {"keras_version", "2.11.0"}};
  return model::read_keras(model.dump(), "parts.json");
}

class MinimalFiltering : public ::testing::TestWithParam<Shape> {
 protected:
  static constexpr std::int64_t samples = 24;
  const model::Network net = network(GetParam());
  const GoldenBatch batch{net, true, samples, 3};

  std::vector<Variable> gradients(std::int64_t micro_batch, int threads) const {
    TrainerOptions options;
    options.threads = threads;
    const auto trainer = cpu::make_trainer(net, options);
    trainer->accumulate(batch.view(), micro_batch);
    return trainer->gradients();
  }
};

TEST_P(MinimalFiltering, HasTheDirectConvolutionsGradients) {
  ASSERT_EQ(operations_with("minimal filtering", *cpu::plan(net, {}, samples, false)), 1);
  // A single sample does not amortise transforming the weights.
  ASSERT_EQ(operations_with("minimal filtering", *cpu::plan(net, {}, 1, false)), 0);
  const std::vector<Variable> found = gradients(samples, 1);
  expect_near(found, gradients(1, 1), 4e-5);
  const std::vector<Variable> of_three = gradients(samples, 3);
  for (std::size_t v = 0; v < found.size(); ++v) EXPECT_EQ(found[v].values, of_three[v].values);
}

// Phases of the stride with as many taps and with fewer, rows and columns that no tap reads,
// kernels of several parts along one axis and along both, channels at and off the units, one axis
// alone.
INSTANTIATE_TEST_SUITE_P(
    Shapes, MinimalFiltering,
    ::testing::Values(
        Shape{11, 13, 40, 36, 3, 3, 1, 1, "same"}, Shape{8, 8, 70, 80, 3, 3, 1, 1, "valid"},
        Shape{8, 6, 40, 50, 5, 5, 1, 1, "same"}, Shape{19, 20, 24, 36, 5, 5, 2, 2, "valid"},
        Shape{16, 15, 17, 48, 5, 5, 2, 2, "same"}, Shape{20, 19, 33, 48, 4, 4, 2, 2, "same"},
        Shape{23, 20, 36, 64, 6, 4, 2, 1, "valid"}, Shape{5, 6, 20, 50, 7, 7, 1, 1, "same"},
        Shape{13, 12, 40, 40, 10, 4, 1, 1, "same"}, Shape{12, 10, 16, 64, 4, 4, 1, 1, "valid"},
        Shape{24, 22, 36, 70, 8, 8, 3, 3, "same"}, Shape{9, 9, 90, 90, 2, 2, 1, 1, "same"},
        Shape{1, 61, 64, 66, 1, 3, 1, 1, "same"}, Shape{1, 50, 33, 64, 1, 5, 1, 1, "valid"},
        Shape{1, 47, 24, 36, 1, 8, 1, 1, "same"}, Shape{3, 31, 50, 50, 1, 4, 1, 1, "valid"},
        Shape{1, 83, 36, 40, 1, 7, 1, 2, "same"}, Shape{4, 40, 40, 56, 1, 9, 2, 2, "valid"}));

// Between the taps of a kernel that is smaller than its stride, outputs are the bias. ReLU passes
// no gradient there while that is 0, as if it were a little less; rounding errors would be passed.
TEST(SpreadConvolutions, AreExactlyZeroWhereNoTapFalls) {
  for (const bool pools : {false, true}) {
    json layers{{{"class_name", "InputLayer"},
                 {"config", {{"batch_input_shape", {nullptr, 16, 16, 12}}, {"name", "input"}}}},
                {{"class_name", "Conv2DTranspose"},
                 {"config",
                  {{"name", "up"},
                   {"filters", 6},
                   {"kernel_size", {3, 3}},
                   {"strides", {4, 4}},
                   {"padding", "same"},
                   {"activation", "relu"}}}},
                {{"class_name", "Flatten"}, {"config", {{"name", "flatten"}}}},
                {{"class_name", "Dense"},
                 {"config", {{"name", "last"}, {"units", 3}, {"activation", "softmax"}}}}};
    const json pool{{"class_name", "MaxPooling2D"}, {"config", {{"name", "pool"}}}};
    if (pools) layers.insert(layers.begin() + 2, pool);
    const json keras{{"class_name", "Sequential"},
                     {"config", {{"name", "spread"}, {"layers", layers}}},
                     {"keras_version", "2.11.0"}};
    const model::Network net = model::read_keras(keras.dump(), "spread.json");
    const GoldenBatch batch(net, true, 8, 3);
    const auto gradients_with = [&](float bias) {
      const auto trainer = cpu::make_trainer(net, {});
      std::vector<Variable> variables = trainer->variables();
      for (Variable& each : variables)
        if (each.parameter.name == "up/bias") std::ranges::fill(each.values, bias);
      trainer->assign(variables);
      trainer->accumulate(batch.view(), 8);
      return trainer->gradients();
    };
    expect_near(gradients_with(0), gradients_with(-1e-6f), 1e-3);
  }
}

}  // namespace
}  // namespace sweetspot::engine::minimal_filtering
