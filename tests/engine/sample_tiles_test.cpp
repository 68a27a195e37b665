// Convolutions on tiles whose rows are samples, of shapes at every edge: padding, strides, windows
// that do not fill groups of four, units and samples that do not fill tiles. And first layers
// without tiles.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bf16_sets.h"
#include "engine/cpu/cpu.h"
#include "golden.h"
#include "near.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using nlohmann::json;
using Size = std::array<int, 2>;

struct Shape {
  const char* name;
  int height, width, channels;  // of the images
  int between;                  // channels of the convolution before the one under test; 0: none
  Size kernel;
  int filters;
  Size strides = {1, 1};
  const char* padding = "valid";
  Size pool = {1, 1};
  const char* activation = "relu";
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

json layer(const char* kind, json config) {
  return {{"class_name", kind}, {"config", std::move(config)}};
}

model::Network sequential(const std::string& name, const json& layers) {
  const json keras{{"class_name", "Sequential"},
                   {"config", {{"name", name}, {"layers", layers}}},
                   {"keras_version", "2.11.0"}};
  return model::read_keras(keras.dump(), name);
}

model::Network network_of(const Shape& s) {
  json layers = json::array(
      {layer("InputLayer",
             {{"name", "in"}, {"batch_input_shape", {nullptr, s.height, s.width, s.channels}}})});
  if (s.between > 0)
    layers.push_back(
        layer("Conv2D", {{"name", "before"}, {"filters", s.between}, {"kernel_size", {1, 1}}}));
  layers.push_back(layer("Conv2D", {{"name", "tested"},
                                    {"filters", s.filters},
                                    {"kernel_size", s.kernel},
                                    {"strides", s.strides},
                                    {"padding", s.padding},
                                    {"activation", s.activation}}));
  if (s.pool != Size{1, 1})
    layers.push_back(
        layer("MaxPooling2D", {{"name", "pool"}, {"pool_size", s.pool}, {"strides", s.pool}}));
  layers.push_back(layer("Flatten", {{"name", "flat"}}));
  layers.push_back(layer("Dense", {{"name", "out"}, {"units", 5}, {"activation", "softmax"}}));
  return sequential(s.name, layers);
}

// Convolutions of every kind behind one another, with something between them or not.
model::Network chain(bool apart) {
  json layers = json::array(
      {layer("InputLayer", {{"name", "in"}, {"batch_input_shape", {nullptr, 14, 15, 6}}})});
  int count = 0;
  const auto add = [&](const char* kind, json config) {
    config["name"] = "layer" + std::to_string(count++);
    layers.push_back(layer(kind, std::move(config)));
  };
  const auto conv = [&](int filters, Size kernel, const char* padding, const char* activation,
                        Size pool, Size strides) {
    add("Conv2D", {{"filters", filters},
                   {"kernel_size", kernel},
                   {"padding", padding},
                   {"activation", activation},
                   {"strides", strides}});
    if (pool != Size{1, 1}) add("MaxPooling2D", {{"pool_size", pool}, {"strides", pool}});
    if (apart) add("Rescaling", {{"scale", 1.0}, {"offset", 0.0}});
  };
  conv(40, {3, 3}, "valid", "relu", {1, 2}, {1, 1});
  conv(24, {3, 3}, "same", "relu", {1, 1}, {1, 1});
  conv(48, {2, 3}, "same", "linear", {1, 1}, {1, 1});
  conv(17, {3, 3}, "same", "relu", {3, 1}, {1, 1});
  conv(33, {2, 2}, "valid", "relu", {1, 1}, {1, 2});
  conv(64, {1, 1}, "valid", "relu", {1, 1}, {1, 1});
  add("Flatten", json::object());
  add("Dense", {{"units", 5}, {"activation", "softmax"}});
  return sequential(apart ? "apart" : "chain", layers);
}

// Multiples of 1/64 that bf16 has: rounding changes no operand of the forward pass, and so no
// winner.
float exact(std::uint32_t tensor, std::size_t i) {
  return std::round(
             static_cast<float>(golden_uniform(tensor, static_cast<std::uint32_t>(i)) - 0.5) * 64) /
         64;
}

// One input channel for each output, so that its sums are exact too.
void select_channels(Variable& kernel, int channels, int filters) {
  for (int c = 0; c < channels; ++c)
    for (int f = 0; f < filters; ++f)
      kernel.values[static_cast<std::size_t>(c * filters + f)] = f % channels == c ? 1.f : 0.f;
}

struct Result {
  double loss;
  std::vector<Variable> gradients;
};

Result train(const Shape& shape, const model::Network& network, Precision precision, int threads,
             std::int64_t samples, std::int64_t micro_batch) {
  TrainerOptions options;
  options.precision = precision, options.threads = threads;
  const auto trainer = cpu::make_trainer(network, options);
  std::vector<Variable> variables = trainer->variables();
  for (std::uint32_t v = 0; v < variables.size(); ++v)
    for (std::size_t i = 0; i < variables[v].values.size(); ++i)
      variables[v].values[i] = exact(v + 1, i);
  if (shape.between > 0) select_channels(variables[0], shape.channels, shape.between);
  trainer->assign(variables);
  GoldenBatch batch(network, true, samples, 7);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) batch.inputs[i] = exact(77, i);
  const double loss = trainer->accumulate(batch.view(), micro_batch).loss;
  return {loss, trainer->gradients()};
}

class Bf16SampleTiles : public WithSet<::testing::TestWithParam<std::tuple<const char*, Shape>>> {
  std::string set() const override { return std::get<0>(GetParam()); }
};

TEST_P(Bf16SampleTiles, HaveTheGradientsOfFp32) {
  const Shape& shape = std::get<1>(GetParam());
  const model::Network network = network_of(shape);
  TrainerOptions options;
  options.precision = Precision::bf16;
  const int wanted = operations_with("side by side", *cpu::plan(network, options, 8, false));
  EXPECT_EQ(wanted, 1 + (shape.between > 0 && shape.channels > 4));
  // A block, less than one, and several whose last one is short.
  for (const std::int64_t samples : {16, 9, 53}) {
    SCOPED_TRACE(samples);
    const Result expected = train(shape, network, Precision::fp32, 1, samples, samples);
    const Result found = train(shape, network, Precision::bf16, 2, samples, samples);
    EXPECT_NEAR(found.loss, expected.loss, 2e-3 * expected.loss);
    // What rounding the gradients leaves; a missing tap or position would be several times that.
    expect_near(found.gradients, expected.gradients, 2e-2);
    const Result in_parts = train(shape, network, Precision::bf16, 1, samples, 8);
    expect_near(in_parts.gradients, expected.gradients, 2e-2);
  }
}

// Four blocks: several threads share one.
TEST_P(Bf16SampleTiles, AreTheSameBitForBitWhateverTheThreads) {
  const Shape& shape = std::get<1>(GetParam());
  const model::Network network = network_of(shape);
  const Result expected = train(shape, network, Precision::bf16, 1, 53, 53);
  for (const int threads : {3, 5, 8, 18}) {
    SCOPED_TRACE(threads);
    const Result found = train(shape, network, Precision::bf16, threads, 53, 53);
    EXPECT_EQ(found.loss, expected.loss);
    for (std::size_t v = 0; v < expected.gradients.size(); ++v)
      EXPECT_EQ(found.gradients[v].values, expected.gradients[v].values)
          << expected.gradients[v].parameter.name;
  }
}

// One thread adds the blocks' gradients to one sum as they are made, several after all are.
TEST_P(Bf16SampleTiles, UpdateTheSameBitForBitWhateverTheThreads) {
  const Shape& shape = std::get<1>(GetParam());
  const model::Network network = network_of(shape);
  const auto trained = [&](int threads) {
    TrainerOptions options;
    options.precision = Precision::bf16, options.threads = threads;
    const auto trainer = cpu::make_trainer(network, options);
    const GoldenBatch batch(network, true, 53, 7);
    for (int step = 0; step < 2; ++step) trainer->step(batch.view(), 53);
    return trainer->variables();
  };
  const std::vector<Variable> expected = trained(1);
  for (const int threads : {2, 5}) {
    const std::vector<Variable> found = trained(threads);
    for (std::size_t v = 0; v < expected.size(); ++v)
      EXPECT_EQ(found[v].values, expected[v].values) << expected[v].parameter.name;
  }
}

class Bf16FirstLayers : public Bf16SampleTiles {};

// Without tiles: patches of windows that fill one register or two, or more, one unit or several.
TEST_P(Bf16FirstLayers, HaveTheGradientsOfFp32) {
  const Shape& shape = std::get<1>(GetParam());
  const model::Network network = network_of(shape);
  TrainerOptions options;
  options.precision = Precision::bf16;
  EXPECT_EQ(operations_with("in bf16", *cpu::plan(network, options, 8, false)), 1);
  for (const std::int64_t samples : {1, 9}) {
    SCOPED_TRACE(samples);
    const Result expected = train(shape, network, Precision::fp32, 1, samples, samples);
    const Result found = train(shape, network, Precision::bf16, 2, samples, samples);
    EXPECT_NEAR(found.loss, expected.loss, 2e-3 * expected.loss);
    expect_near(found.gradients, expected.gradients, 2e-2);
  }
}

class Bf16TileChain : public WithSet<::testing::TestWithParam<const char*>> {
  std::string set() const override { return GetParam(); }
};

// Tiles that one convolution hands to the next hold what images would have held.
TEST_P(Bf16TileChain, HandsOnWhatImagesWouldHold) {
  const model::Network together = chain(false), apart = chain(true);
  TrainerOptions options;
  options.precision = Precision::bf16;
  EXPECT_EQ(operations_with("side by side", *cpu::plan(together, options, 16, false)), 6);
  EXPECT_EQ(operations_with("side by side", *cpu::plan(apart, options, 16, false)), 6);
  for (const std::int64_t samples : {16, 9, 53}) {
    SCOPED_TRACE(samples);
    const Result expected = train({}, apart, Precision::bf16, 1, samples, samples);
    const Result found = train({}, together, Precision::bf16, 1, samples, samples);
    EXPECT_NEAR(found.loss, expected.loss, 1e-6 * expected.loss);
    expect_near(found.gradients, expected.gradients, 1e-5);
    for (const int threads : {2, 7, 18}) {
      SCOPED_TRACE(threads);
      const Result same = train({}, together, Precision::bf16, threads, samples, samples);
      EXPECT_EQ(same.loss, found.loss);
      for (std::size_t v = 0; v < found.gradients.size(); ++v)
        EXPECT_EQ(same.gradients[v].values, found.gradients[v].values);
    }
  }
}
// Dropout in front of a dense layer, with something between them or not.
model::Network dropped(bool images, bool apart) {
  json layers = json::array({layer(
      "InputLayer", {{"name", "in"},
                     {"batch_input_shape", images ? json{nullptr, 7, 6, 3} : json{nullptr, 90}}})});
  if (images) {
    layers.push_back(layer("Conv2D", {{"name", "conv"}, {"filters", 40}, {"kernel_size", {3, 3}}}));
    layers.push_back(layer("Flatten", {{"name", "flat"}}));
  } else {
    layers.push_back(layer("Dense", {{"name", "before"}, {"units", 90}, {"activation", "relu"}}));
  }
  layers.push_back(layer("Dropout", {{"name", "drop"}, {"rate", 0.3}}));
  if (apart)
    layers.push_back(layer("Rescaling", {{"name", "same"}, {"scale", 1.0}, {"offset", 0.0}}));
  layers.push_back(layer("Dense", {{"name", "tested"}, {"units", 70}, {"activation", "relu"}}));
  layers.push_back(layer("Dense", {{"name", "out"}, {"units", 5}, {"activation", "softmax"}}));
  return sequential(apart ? "apart" : "together", layers);
}

// What dropout rounds for the dense layer behind it is what that would have rounded itself.
TEST_P(Bf16TileChain, DropoutRoundsAsADenseLayerWould) {
  for (const bool images : {true, false})
    for (const std::int64_t samples : {32, 17, 53}) {
      SCOPED_TRACE(samples);
      const model::Network together = dropped(images, false), apart = dropped(images, true);
      const Result expected = train({}, apart, Precision::bf16, 1, samples, samples);
      for (const int threads : {1, 2, 7}) {
        SCOPED_TRACE(threads);
        const Result found = train({}, together, Precision::bf16, threads, samples, samples);
        EXPECT_EQ(found.loss, expected.loss);
        for (std::size_t v = 0; v < found.gradients.size(); ++v)
          EXPECT_EQ(found.gradients[v].values, expected.gradients[v].values);
      }
    }
}
INSTANTIATE_TEST_SUITE_P(Sets, Bf16TileChain, ::testing::Values("amx", "emulated"));

constexpr Shape shapes[] = {
    {"first", 12, 14, 1, 0, {4, 4}, 32, {1, 1}, "valid", {2, 2}},
    {"first_rgb", 9, 11, 3, 0, {3, 3}, 20, {1, 1}, "same", {3, 3}},
    {"first_wide", 8, 40, 5, 0, {2, 7}, 16, {2, 1}, "same", {1, 2}},
    {"first_unpooled", 7, 7, 6, 0, {3, 3}, 48},
    {"first_odd_window", 10, 9, 2, 0, {2, 2}, 17, {1, 1}, "valid", {3, 1}},
    {"first_in_bands", 41, 36, 4, 0, {3, 3}, 16, {1, 1}, "same", {2, 2}},
    {"first_wide_windows", 7, 41, 1, 0, {3, 3}, 40, {1, 1}, "same", {2, 4}},
    {"first_many_outputs", 26, 26, 5, 0, {3, 3}, 16, {1, 1}, "same", {1, 1}, "linear"},
    {"pooled", 11, 11, 3, 32, {4, 4}, 64, {1, 1}, "valid", {2, 2}},
    {"padded", 7, 6, 3, 48, {3, 3}, 33, {1, 1}, "same"},
    {"strided", 9, 10, 2, 16, {3, 3}, 40, {2, 2}, "same"},
    {"stride_above_kernel", 10, 11, 2, 16, {1, 2}, 24, {3, 3}, "valid"},
    {"uneven", 5, 12, 4, 96, {1, 5}, 80, {1, 2}, "same", {1, 3}},
    {"point", 4, 5, 3, 40, {1, 1}, 130, {1, 1}, "valid", {2, 2}, "linear"},
    {"larger_than_the_image", 3, 3, 2, 24, {5, 5}, 18, {1, 1}, "same"},
    {"taps_without_places", 2, 2, 2, 24, {5, 5}, 18, {1, 1}, "same"},
    {"wide_windows", 6, 58, 2, 16, {2, 3}, 32, {1, 1}, "same", {2, 2}},
    {"wide_kernel", 3, 50, 2, 24, {2, 7}, 20, {1, 1}, "same"},
    {"wide_kernel_strided", 12, 13, 2, 32, {4, 5}, 24, {3, 2}, "same"},
};
constexpr Shape first_shapes[] = {
    {"one_register", 12, 14, 1, 0, {4, 4}, 32, {1, 1}, "valid", {2, 2}},
    {"padded", 9, 11, 1, 0, {3, 3}, 20, {1, 1}, "same", {2, 2}},
    {"two_registers", 11, 10, 1, 0, {5, 5}, 6, {1, 1}, "same", {2, 2}},
    {"rgb", 8, 10, 3, 0, {3, 3}, 40, {1, 1}, "same", {2, 2}},
    {"strided", 13, 12, 1, 0, {2, 3}, 17, {2, 1}, "valid", {2, 3}, "linear"},
    {"odd_window", 10, 9, 2, 0, {2, 2}, 17, {1, 1}, "valid", {3, 1}},
    {"large_patch", 12, 12, 4, 0, {4, 4}, 16, {1, 1}, "valid", {2, 2}},
    {"one_column", 14, 9, 1, 0, {3, 1}, 70, {1, 1}, "valid", {2, 1}},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Bf16FirstLayers,
                         ::testing::Combine(::testing::Values("avx512bf16"),
                                            ::testing::ValuesIn(first_shapes)),
                         [](const auto& both) {
                           return std::string(std::get<1>(both.param).name);
                         });
INSTANTIATE_TEST_SUITE_P(Shapes, Bf16SampleTiles,
                         ::testing::Combine(::testing::Values("amx", "emulated"),
                                            ::testing::ValuesIn(shapes)),
                         [](const auto& both) {
                           return std::string(std::get<0>(both.param)) + "_" +
                                  std::get<1>(both.param).name;
                         });

}  // namespace
}  // namespace sweetspot::engine
