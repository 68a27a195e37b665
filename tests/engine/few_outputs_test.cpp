// Dense layers of few outputs or many rows, and what they are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "core/random.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/ops/few_columns.h"
#include "golden.h"
#include "near.h"

namespace sweetspot::engine::few_outputs {
namespace {

using namespace testing;
using cpu::kernels;
using cpu::panel;
using nlohmann::json;

std::vector<float> values(std::int64_t count, std::uint32_t stream) {
  const core::Random random(11, core::Purpose::dropout, 0, stream);
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(static_cast<float>(random.words(static_cast<std::uint64_t>(i))[0] * 0x1p-31 - 1));
  return all;
}

float at(const std::vector<float>& of, std::int64_t i) { return of[static_cast<std::size_t>(i)]; }

// Depth, outputs.
class FewOutputs : public ::testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {
 protected:
  static constexpr std::int64_t rows = 29;
  const std::int64_t depth = std::get<0>(GetParam()), outputs = std::get<1>(GetParam());
  const std::vector<float> a = values(rows * depth, 1);
};

TEST_P(FewOutputs, AreTheSumsOfTheirInputs) {
  // In panels of the depth, padding zero.
  std::vector<float> weights(static_cast<std::size_t>(depth * unit));
  const std::vector<float> drawn = values(depth * unit, 2), bias = values(unit, 3);
  const auto place = [&](std::int64_t n, std::int64_t k) {
    const std::int64_t first = k / panel * panel, width = std::min(panel, depth - first);
    return static_cast<std::size_t>(first * unit + n * width + k - first);
  };
  for (std::int64_t n = 0; n < outputs; ++n)
    for (std::int64_t k = 0; k < depth; ++k) weights[place(n, k)] = at(drawn, n * depth + k);
  for (const bool relu : {false, true}) {
    std::vector<float> c(static_cast<std::size_t>(rows * unit)), parts = c;
    cpu::Narrow p{a.data(), depth,       rows, depth,    weights.data(),
                  outputs,  bias.data(), relu, c.data(), unit};
    kernels().narrow(p);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t n = 0; n < outputs; ++n) {
        double sum = at(bias, n);
        for (std::int64_t k = 0; k < depth; ++k)
          sum += double{at(a, r * depth + k)} * weights[place(n, k)];
        EXPECT_NEAR(at(c, r * unit + n), relu ? std::max(sum, 0.0) : sum,
                    1e-5 * std::sqrt(static_cast<double>(depth)));
      }
    // Threads have other rows.
    for (std::int64_t first = 0, count = 1; first < rows; first += count, ++count) {
      p.a = a.data() + first * depth, p.c = parts.data() + first * unit;
      p.rows = std::min(count, rows - first);
      kernels().narrow(p);
    }
    EXPECT_EQ(c, parts);
  }
}

TEST_P(FewOutputs, GiveTheWeightGradientOfAllColumns) {
  std::vector<float> g = values(rows * unit, 4);
  for (std::int64_t i = 0; i < rows * unit; ++i)
    if (i % unit >= outputs) g[static_cast<std::size_t>(i)] = 0;
  for (const bool accumulate : {false, true}) {
    std::vector<float> found = values(depth * unit, 5), expected = found;
    cpu::Outer o{};
    o.a = a.data(), o.row_stride = depth, o.rows = rows, o.depth = depth;
    o.g = g.data(), o.g_row_stride = unit, o.g_unit_stride = unit, o.width = unit;
    o.d = expected.data(), o.accumulate = accumulate;
    kernels().outer(o);
    std::vector<float> memory(cpu::FewColumns::floats);
    o.d = found.data();
    cpu::FewColumns(kernels(), memory.data()).multiply(o, outputs);
    for (std::int64_t i = 0; i < depth * unit; ++i)
      EXPECT_NEAR(at(found, i), at(expected, i), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FewOutputs,
                         ::testing::Combine(::testing::Values(16, 48, 64, 80, 576, 1504, 3104),
                                            ::testing::Values(1, 4, 5, 8, 10, 12)));

// Units of features; how many are side by side must not change a bit, as it depends on the threads.
class SideBySide : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(SideBySide, FeaturesAreNormalisedAsAlone) {
  const std::int64_t units = GetParam(), features = units * unit, stride = features + unit;
  for (const std::int64_t positions : {1, 2, 255, 256, 600})
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(positions);
      const std::vector<float> x = values(positions * stride, 1), g = values(positions * stride, 2);
      const std::vector<float> parameters = values(5 * features, 3);
      struct Found {
        std::vector<float> mean, squares, y, passed, sum, product, back;
        bool operator==(const Found&) const = default;
      };
      const auto run = [&](std::int64_t at_once) {
        const std::vector<float> some(static_cast<std::size_t>(features)), all(x.size());
        Found f{some, some, all, all, some, some, all};
        for (std::int64_t u = 0; u < units; u += at_once) {
          const std::int64_t n = std::min(at_once, units - u), at = u * unit;
          kernels().moments(x.data() + at, n, positions, stride, f.mean.data() + at,
                            f.squares.data() + at);
          const float* p = parameters.data() + at;
          const cpu::Normalise s{f.mean.data() + at, p, p + features, n, positions, stride, relu};
          kernels().normalise(s, x.data() + at, f.y.data() + at);
          kernels().normalise_sums(s, x.data() + at, g.data() + at, f.passed.data() + at,
                                   f.sum.data() + at, f.product.data() + at);
          kernels().normalise_back(
              {f.mean.data() + at, p, p + 2 * features, p + 3 * features, n, positions, stride},
              x.data() + at, g.data() + at, f.back.data() + at);
        }
        return f;
      };
      const Found alone = run(1);
      for (const std::int64_t at_once : {std::int64_t{2}, std::int64_t{3}, units})
        EXPECT_EQ(alone, run(at_once)) << at_once;
      for (std::int64_t i : {std::int64_t{0}, features - 1}) {
        double mean = 0, spread = 0;
        for (std::int64_t p = 0; p < positions; ++p) mean += at(x, p * stride + i);
        mean /= static_cast<double>(positions);
        for (std::int64_t p = 0; p < positions; ++p)
          spread += std::pow(at(x, p * stride + i) - mean, 2);
        EXPECT_NEAR(at(alone.mean, i), mean, 1e-6);
        EXPECT_NEAR(at(alone.squares, i), spread, 1e-4 * spread + 1e-9);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Units, SideBySide, ::testing::Values(1, 2, 3, 4, 5, 7, 12));

TEST(CopyRows, ClosesRowsUp) {
  for (const std::int64_t count : {16, 48, 64, 192}) {
    const std::int64_t rows = 21, stride = count + 48;
    const std::vector<float> from = values(rows * stride, 6);
    std::vector<float> to(static_cast<std::size_t>(rows * (count + unit)), -1.f);
    kernels().copy_rows(from.data(), stride, rows, count, to.data(), count + unit);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < count + unit; ++i)
        EXPECT_EQ(at(to, r * (count + unit) + i), i < count ? at(from, r * stride + i) : -1.f);
  }
}

// What a weight gradient fetches in advance changes none of its bits.
TEST(PackedOperands, GiveTheSameWeightGradient) {
  const std::int64_t rows = 200;
  for (const std::int64_t depth : {16, 48, 64})
    for (const bool accumulate : {false, true}) {
      const std::vector<float> a = values(rows * depth, 7), g = values(rows * panel, 8);
      const std::vector<float> next = values(rows * 2 * depth, 9);
      std::vector<float> found = values(depth * panel, 10), expected = found;
      cpu::Outer o{};
      o.a = a.data(), o.row_stride = depth, o.rows = rows, o.depth = depth;
      o.g = g.data(), o.g_row_stride = panel, o.g_unit_stride = unit, o.width = panel;
      o.d = expected.data(), o.accumulate = accumulate;
      kernels().outer(o);
      o.packed = true, o.next = next.data(), o.next_stride = 2 * depth, o.d = found.data();
      kernels().outer(o);
      EXPECT_EQ(found, expected) << depth;
    }
}

json layer(const char* kind, json config) {
  return {{"class_name", kind}, {"config", std::move(config)}};
}

model::Network network(const json& input, std::vector<json> layers) {
  layers.insert(layers.begin(), layer("InputLayer", {{"batch_input_shape", input}}));
  int count = 0;
  for (json& one : layers) one["config"]["name"] = "layer" + std::to_string(count++);
  const json keras{{"class_name", "Sequential"},
                   {"config", {{"name", "made-up"}, {"layers", layers}}},
                   {"keras_version", "2.11.0"}};
  return model::read_keras(keras.dump(), "made-up.json");
}

std::vector<Variable> gradients(const model::Network& of, const GoldenBatch& batch, int threads,
                                std::int64_t micro_batch) {
  TrainerOptions options;
  options.threads = threads;
  const auto trainer = cpu::make_trainer(of, options);
  trainer->accumulate(batch.view(), micro_batch);
  return trainer->gradients();
}

// Batches of up to 16 take the other way.
TEST(FewOutputsInANetwork, HaveTheGradientsOfSmallMicroBatches) {
  for (const int outputs : {2, 5, 10, 12, 13}) {
    SCOPED_TRACE(outputs);
    const auto dense = [&](int units, const char* activation) {
      return layer("Dense", {{"units", units}, {"activation", activation}});
    };
    const model::Network of =
        network({nullptr, 51}, {dense(777, "tanh"), dense(outputs, "relu"), dense(300, "tanh"),
                                dense(outputs, "softmax")});
    const GoldenBatch batch(of, true, 70, 3);
    const std::vector<Variable> whole = gradients(of, batch, 1, 70);
    expect_near(whole, gradients(of, batch, 1, 14), 2e-5);
    for (const int threads : {2, 3, 16}) {
      const std::vector<Variable> others = gradients(of, batch, threads, 70);
      for (std::size_t v = 0; v < whole.size(); ++v)
        EXPECT_EQ(whole[v].values, others[v].values) << whole[v].parameter.name;
    }
  }
}

// Few threads divide the rows of many vectors, many threads their features, or the weights.
TEST(ManyVectors, HaveTheSameGradientsForAnyNumberOfThreads) {
  for (const int width : {7, 100, 333, 560}) {
    SCOPED_TRACE(width);
    const model::Network of =
        network({nullptr, 40},
                {layer("Dense", {{"units", width}}), layer("BatchNormalization", json::object()),
                 layer("Activation", {{"activation", "relu"}}), layer("Dense", {{"units", 530}}),
                 layer("BatchNormalization", json::object()), layer("Dense", {{"units", width}}),
                 layer("Activation", {{"activation", "relu"}}),
                 layer("Dense", {{"units", 6}, {"activation", "softmax"}})});
    for (const int count : {40, 385, 701}) {
      const GoldenBatch batch(of, true, count, 5);
      const std::vector<Variable> one = gradients(of, batch, 1, count);
      for (const int threads : {2, 3, 16}) {
        SCOPED_TRACE(::testing::Message() << count << " on " << threads);
        const std::vector<Variable> others = gradients(of, batch, threads, count);
        for (std::size_t v = 0; v < one.size(); ++v)
          EXPECT_EQ(one[v].values, others[v].values) << one[v].parameter.name;
      }
    }
  }
}

// Rescaling the batch in front of a convolution: as if the batch had been rescaled before.
TEST(RescaledBatches, GiveAConvolutionTheSameGradients) {
  for (const int channels : {1, 3, 8, 9})
    for (const char* padding : {"same", "valid"})
      for (const int stride : {1, 2})
        for (const bool pools : {false, true}) {
          SCOPED_TRACE(::testing::Message() << channels << padding << stride << pools);
          std::vector<json> layers{layer("Conv2D", {{"filters", 5},
                                                    {"kernel_size", {3, 2}},
                                                    {"strides", {stride, stride}},
                                                    {"padding", padding},
                                                    {"activation", "relu"}})};
          if (pools) layers.push_back(layer("MaxPooling2D", {{"pool_size", {2, 2}}}));
          layers.push_back(layer("Flatten", json::object()));
          layers.push_back(layer("Dense", {{"units", 4}, {"activation", "softmax"}}));
          const json input{nullptr, 11, 10, channels};
          const model::Network plain = network(input, layers);
          layers.insert(layers.begin(), layer("Rescaling", {{"scale", 2.0}, {"offset", -1.0}}));
          const model::Network rescaled = network(input, layers);
          GoldenBatch batch(plain, true, 19, 8);
          std::vector<std::vector<Variable>> found;
          for (const int threads : {1, 3}) found.push_back(gradients(rescaled, batch, threads, 19));
          for (float& x : batch.inputs) x = x * 2 - 1;
          const std::vector<Variable> expected = gradients(plain, batch, 1, 19);
          for (const auto& one : found) expect_near(one, expected, 1e-6);
        }
}

// An image as a vector: its elements are moved, or stay where they are and the weights after it are
// permuted.
TEST(ReshapedImages, GiveTheGradientsOfFlattenedOnes) {
  for (const int channels : {1, 3, 15, 16, 17, 19, 33})
    for (const int width : {1, 2, 7}) {
      SCOPED_TRACE(::testing::Message() << channels << " of width " << width);
      const auto made = [&](const json& between) {
        return network(
            {nullptr, 3, width, 2},
            {layer("Conv2D",
                   {{"filters", channels}, {"kernel_size", {1, 1}}, {"activation", "tanh"}}),
             between, layer("Dense", {{"units", 47}, {"activation", "tanh"}}),
             layer("Dense", {{"units", 3}, {"activation", "softmax"}})});
      };
      const model::Network flattened = made(layer("Flatten", json::object()));
      const model::Network reshaped =
          made(layer("Reshape", {{"target_shape", {3 * width * channels}}}));
      const GoldenBatch batch(flattened, true, 21, 4);
      expect_near(gradients(reshaped, batch, 2, 21), gradients(flattened, batch, 1, 21), 1e-5);
    }
}

}  // namespace
}  // namespace sweetspot::engine::few_outputs
