// Training on the CPU in bf16, with each set of kernels. Skipped, with the reason, if the CPU lacks
// a set's instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <vector>

#include "bf16_sets.h"
#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/kernels/bf16_support.h"
#include "golden.h"
#include "near.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using cpu::Bf16;

class OfSet : public WithSet<::testing::TestWithParam<const char*>> {
  std::string set() const override { return GetParam(); }
};
class Bf16Kernels : public OfSet {};
class Bf16Training : public OfSet {};
class Bf16Memory : public OfSet {};
constexpr auto name_of_set = [](const auto& set) { return std::string(set.param); };
INSTANTIATE_TEST_SUITE_P(Sets, Bf16Kernels, ::testing::ValuesIn(bf16_sets), name_of_set);
INSTANTIATE_TEST_SUITE_P(Sets, Bf16Training, ::testing::ValuesIn(bf16_sets), name_of_set);
INSTANTIATE_TEST_SUITE_P(Sets, Bf16Memory, ::testing::ValuesIn(bf16_sets), name_of_set);

float value(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

std::vector<float> numbers(std::int64_t count, std::uint32_t tensor) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < count; ++i)
    made.push_back(static_cast<float>(golden_uniform(tensor, static_cast<std::uint32_t>(i)) - 0.5));
  return made;
}
std::vector<Bf16> rounded_numbers(std::int64_t count, std::uint32_t tensor) {
  std::vector<Bf16> made;
  for (const float x : numbers(count, tensor))
    made.push_back(
        Bf16{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded(x)) >> 16)});
  return made;
}
constexpr double sum_tolerance = 1e-5;  // of fp32 sums over a few hundred products

TEST_P(Bf16Kernels, RoundToNearestEvenUpToAnyCount) {
  for (const std::int64_t count : {1, 15, 16, 17, 31, 32, 33, 75, 784}) {
    const std::vector<float> from = numbers(count, 1);
    std::vector<Bf16> to(static_cast<std::size_t>(count) + 1, Bf16{0x4242});
    bf16().round(from.data(), count, to.data());
    for (std::size_t i = 0; i < from.size(); ++i) ASSERT_EQ(value(to[i]), rounded(from[i])) << i;
    EXPECT_EQ(to.back(), Bf16{0x4242}) << "wrote beyond the end";
  }
}

TEST_P(Bf16Kernels, PairRowsAndColumns) {
  for (const std::int64_t rows : {16, 17, 48}) {
    const std::int64_t columns = 48, stride = 50;
    const std::vector<float> from = numbers(rows * stride, 2);
    const auto at = [&](std::int64_t r, std::int64_t c) {
      return rounded(from[static_cast<std::size_t>(r * stride + c)]);
    };
    std::vector<Bf16> to(static_cast<std::size_t>((rows + 1) * columns));
    bf16().pair_rows(from.data(), stride, rows, columns, to.data(), 2 * columns);
    for (std::int64_t r = 0; r < rows + 1; ++r)
      for (std::int64_t c = 0; c < columns && r / 2 * 2 < rows; ++c)
        ASSERT_EQ(value(to[static_cast<std::size_t>(r / 2 * 2 * columns + 2 * c + r % 2)]),
                  r < rows ? at(r, c) : 0);
    if (rows % unit != 0) continue;
    bf16().transpose_pairs(from.data(), stride, rows, columns, to.data(), 2 * rows);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        ASSERT_EQ(value(to[static_cast<std::size_t>(c / 2 * 2 * rows + 2 * r + c % 2)]), at(r, c));
  }
}

TEST_P(Bf16Kernels, TurnPairsOfRowsIntoPairsOfColumns) {
  for (const std::int64_t columns : {16, 32, 48, 64}) {
    const std::vector<float> from = numbers(16 * columns, 3);
    std::vector<Bf16> pairs(from.size()), turned(from.size()), expected(from.size());
    bf16().pair_rows(from.data(), columns, 16, columns, pairs.data(), 2 * columns);
    bf16().turn_row_pairs(pairs.data(), 2 * 16, 2 * columns, columns, turned.data(), 2 * 16);
    bf16().transpose_pairs(from.data(), columns, 16, columns, expected.data(), 2 * 16);
    EXPECT_EQ(turned, expected) << columns;
  }
}

TEST_P(Bf16Kernels, RoundGradientsInOnePass) {
  for (const std::int64_t rows : {32, 37})
    for (const bool relu : {false, true}) {
      const std::int64_t columns = 160, even = rows + rows % 2, padded = 192;
      std::vector<float> gradients = numbers(rows * columns, 3);
      const std::vector<float> values = numbers(rows * columns, 4);
      const auto size = static_cast<std::size_t>(48 * columns);
      std::vector<Bf16> tiles(size), rows_of(size), expected(size);
      std::vector<Bf16> pairs(static_cast<std::size_t>(even * padded)), expected_pairs(pairs);
      std::vector<float> sums(static_cast<std::size_t>(columns), 1), expected_sums(sums);
      cpu::OutputGradients g{};
      g.gradients = gradients.data(), g.values = relu ? values.data() : nullptr;
      g.rows = rows, g.columns = columns, g.pairs = pairs.data();
      // In two parts; without sums the second time.
      for (const bool row_tiles : {true, false}) {
        g.sums = row_tiles ? sums.data() : nullptr, g.row_tiles = row_tiles;
        g.rounded = row_tiles ? tiles.data() : rows_of.data();
        g.begin = 0, g.end = 96, bf16().round_gradients(g);
        g.begin = 96, g.end = columns, bf16().round_gradients(g);
      }
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (relu && values[i] <= 0) gradients[i] = 0;
        expected_sums[i % static_cast<std::size_t>(columns)] += gradients[i];
      }
      EXPECT_EQ(sums, expected_sums);
      bf16().round_row_tiles(gradients.data(), rows, columns, expected.data());
      EXPECT_EQ(tiles, expected);
      expected.assign(size, Bf16{});
      bf16().round(gradients.data(), rows * columns, expected.data());
      EXPECT_EQ(rows_of, expected);
      for (std::int64_t n = 0; n < columns; n += 64)
        bf16().pair_rows(gradients.data() + n, columns, rows,
                         std::min<std::int64_t>(64, columns - n), expected_pairs.data() + n * even,
                         128);
      EXPECT_EQ(pairs, expected_pairs);
    }
}

TEST_P(Bf16Kernels, MultiplyRowsAndSegmentsOfAnyRun) {
  for (const std::int64_t width : {16, 32, 48, 64})
    for (const std::int64_t run : {3, 4, 32, 400}) {
      const std::int64_t rows = 29, segments = 3, row_stride = 5, pairs = (run + 1) / 2;
      const std::int64_t a_numbers = rows * row_stride + segments * (run + 7) + 1;
      const std::vector<Bf16> a = rounded_numbers(a_numbers, 3);
      std::vector<Bf16> b = rounded_numbers(segments * pairs * 2 * width, 4);
      const std::vector<float> bias = numbers(width, 5);
      std::vector<std::int32_t> offsets;
      for (std::int64_t s = 0; s < segments; ++s)
        offsets.push_back(static_cast<std::int32_t>(s * (run + 7)));
      const auto of_b = [&](std::int64_t s, std::int64_t j, std::int64_t n) -> Bf16& {
        return b[static_cast<std::size_t>(((s * pairs + j / 2) * width + n) * 2 + j % 2)];
      };
      for (std::int64_t s = 0; run % 2 != 0 && s < segments; ++s)
        for (std::int64_t n = 0; n < width; ++n) of_b(s, run, n) = Bf16{};
      std::vector<float> c(static_cast<std::size_t>(rows * width));
      cpu::Product<Bf16> m{};
      m.a = a.data(), m.row_stride = row_stride, m.rows = rows;
      m.segment_offsets = offsets.data(), m.segments = segments, m.run = run;
      m.b = b.data(), m.width = width, m.bias = bias.data(), m.relu = true;
      m.c = c.data(), m.c_row_stride = width, m.c_unit_stride = unit;
      bf16().multiply(m);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t n = 0; n < width; ++n) {
          double sum = bias[static_cast<std::size_t>(n)];
          for (std::int64_t s = 0; s < segments; ++s)
            for (std::int64_t j = 0; j < run; ++j)
              sum += static_cast<double>(value(a[static_cast<std::size_t>(
                         r * row_stride + offsets[static_cast<std::size_t>(s)] + j)])) *
                     value(of_b(s, j, n));
          ASSERT_NEAR(c[static_cast<std::size_t>(r * width + n)], std::max(sum, 0.0),
                      sum_tolerance * 10)
              << width << " columns, runs of " << run;
        }
    }
}

TEST_P(Bf16Kernels, MultiplyPairsOfRows) {
  for (const std::int64_t width : {16, 32, 48, 64})
    for (const std::int64_t depth : {16, 48, 64}) {
      const std::int64_t pairs = depth == 48 ? 300 : 21;  // more than fit on tiles at once
      const std::vector<Bf16> a = rounded_numbers(pairs * 2 * depth, 6),
                              g = rounded_numbers(pairs * 2 * width, 7);
      std::vector<float> d(static_cast<std::size_t>(depth * width), 1);
      cpu::OuterProduct<Bf16> o{};
      o.a = a.data(), o.row_stride = 2 * depth, o.rows = pairs, o.depth = depth;
      o.g = g.data(), o.g_row_stride = 2 * width, o.g_unit_stride = 2 * unit;
      o.width = width, o.d = d.data(), o.accumulate = true;
      bf16().outer(o);
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t n = 0; n < width; ++n) {
          double sum = 1;
          for (std::int64_t r = 0; r < 2 * pairs; ++r)
            sum += static_cast<double>(
                       value(a[static_cast<std::size_t>((r / 2 * depth + k) * 2 + r % 2)])) *
                   value(g[static_cast<std::size_t>((r / 2 * width + n) * 2 + r % 2)]);
          ASSERT_NEAR(d[static_cast<std::size_t>(k * width + n)], sum, sum_tolerance * 10);
        }
    }
}

TEST_P(Bf16Kernels, PutGradientsWhereTheWinnersAre) {
  const std::int64_t windows = 5, slots = 6;
  const std::vector<float> gradients = numbers(windows * unit, 8);
  std::vector<std::uint8_t> winners;
  for (std::int64_t i = 0; i < windows * unit; ++i)
    winners.push_back(i % 7 == 6 ? cpu::no_gradient : static_cast<std::uint8_t>(i % 7));
  std::vector<Bf16> to(static_cast<std::size_t>(windows * slots * unit), Bf16{0x4242});
  bf16().winners_in_pairs({gradients.data(), winners.data(), windows}, slots, to.data());
  for (std::int64_t i = 0; i < windows * unit; ++i)
    for (std::int64_t s = 0; s < slots; ++s) {
      const std::int64_t pair = i / unit * slots / 2 + s / 2;
      const float wanted = winners[static_cast<std::size_t>(i)] == s
                               ? rounded(gradients[static_cast<std::size_t>(i)])
                               : 0;
      ASSERT_EQ(value(to[static_cast<std::size_t>((pair * unit + i % unit) * 2 + s % 2)]), wanted)
          << i << " " << s;
    }
}

// Patches of one and two registers, an odd number of windows, more taps than accumulators.
TEST_P(Bf16Kernels, MultiplyWinnersWithWhatTheyRead) {
  const std::int64_t slots = 4, stride = 2 * unit;
  for (const std::int64_t row : {32, 64})
    for (const std::int64_t windows : {1, 6, 9}) {
      const std::int64_t taps = row == 32 ? 7 : 21;
      const std::vector<Bf16> patches = rounded_numbers(windows * row, 9);
      std::vector<float> gradients = numbers(windows * unit, 10);
      std::vector<std::uint8_t> winners;
      for (std::int64_t i = 0; i < windows * unit; ++i) {
        winners.push_back(i % 5 == 4 ? cpu::no_gradient : static_cast<std::uint8_t>(i % 5));
        if (i % 5 == 4) gradients[static_cast<std::size_t>(i)] = 0;
      }
      std::vector<std::int32_t> slot_offsets(16), tap_offsets;
      for (std::int32_t s = 0; s < slots; ++s) slot_offsets[static_cast<std::size_t>(s)] = 3 * s;
      for (std::int64_t t = 0; t < taps; ++t)
        tap_offsets.push_back(static_cast<std::int32_t>(row - 10 - t));
      std::vector<float> to(static_cast<std::size_t>(taps * stride), 1);
      bf16().patch_weights({{gradients.data(), winners.data(), windows},
                            patches.data(),
                            row,
                            slot_offsets.data(),
                            tap_offsets.data(),
                            taps,
                            to.data(),
                            stride});
      for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t c = 0; c < stride; ++c) {
          double sum = 1;
          for (std::int64_t w = 0; w < windows && c < unit; ++w) {
            const auto at = static_cast<std::size_t>(w * unit + c);
            if (winners[at] == cpu::no_gradient) continue;
            sum +=
                static_cast<double>(rounded(gradients[at])) *
                value(patches[static_cast<std::size_t>(w * row + slot_offsets[winners[at]] +
                                                       tap_offsets[static_cast<std::size_t>(t)])]);
          }
          ASSERT_NEAR(to[static_cast<std::size_t>(t * stride + c)], sum, sum_tolerance * 10)
              << row << " " << windows << " " << t << " " << c;
        }
    }
}

// Windows that do not fill groups of three, an odd run, with and without bias and ReLU.
TEST_P(Bf16Kernels, PoolProductsInRegistersBitForBit) {
  const std::int64_t windows = 7, rows = 4 * windows, run = 3, segments = 2;
  const std::vector<Bf16> frame = rounded_numbers(rows * 2 + 40, 11);
  const std::vector<std::int32_t> segment_offsets{0, 17};
  std::vector<std::int32_t> offsets;
  for (std::int32_t r = 0; r < rows; ++r) offsets.push_back(r * 2);
  for (const std::int64_t width : {unit, 2 * unit})
    for (const bool plain : {false, true}) {
      std::vector<Bf16> weights = rounded_numbers(segments * (run + 1) * width, 12);
      const std::vector<float> bias = numbers(width, 13);
      cpu::PooledPairs p{};
      p.product.a = frame.data(), p.product.rows = rows, p.product.row_offsets = offsets.data();
      p.product.segments = segments, p.product.segment_offsets = segment_offsets.data();
      p.product.run = run, p.product.b = weights.data(), p.product.width = width;
      p.product.bias = plain ? nullptr : bias.data(), p.product.relu = !plain;
      const auto size = static_cast<std::size_t>(windows * width);
      std::vector<float> out(size, -1), wanted(size);
      std::vector<std::uint8_t> winner(size, 77), wanted_winner(size);
      p.out = out.data(), p.winner = winner.data(), p.unit_stride = windows * unit;
      bf16().multiply_pooled(p);
      std::vector<float> sums(static_cast<std::size_t>(rows * width));
      cpu::Product<Bf16> m = p.product;
      m.relu = false, m.c = sums.data(), m.c_row_stride = unit, m.c_unit_stride = rows * unit;
      cpu::kernels_avx512bf16.multiply(m);
      for (std::int64_t u = 0; u < width / unit; ++u)
        cpu::kernels().pool_windows({sums.data() + u * rows * unit, windows, 4, p.product.relu,
                                     wanted.data() + u * windows * unit,
                                     wanted_winner.data() + u * windows * unit});
      EXPECT_EQ(out, wanted) << width << " " << plain;
      EXPECT_EQ(winner, wanted_winner) << width << " " << plain;
    }
}

TrainerOptions in_bf16(const model::Network& network, int threads = 1) {
  TrainerOptions options;
  options.loss = model::natural_loss(network);
  options.precision = Precision::bf16;
  options.threads = threads;
  return options;
}

std::vector<Variable> gradients(const model::Network& network, const TrainerOptions& options,
                                std::int64_t samples, std::int64_t micro_batch) {
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, options.loss != model::Loss::mean_squared_error, samples, 0);
  trainer->accumulate(batch.view(), micro_batch);
  return trainer->gradients();
}

model::Network named(const std::string& name) { return golden_network(name); }

// The GPU's bounds for the same rounding (tests/engine_cuda/golden_test.cpp): on the norm of the
// difference, since a rounding that flips a winner or a ReLU moves a whole gradient.
constexpr double golden_tolerance = 6e-2, golden_norm = 4;
// One ReLU of resident-mix, and batch normalisation's offset of norm-blocks where its 3×3
// convolutions are rounded, as on tiles: rounded.py has 0.315 and 0.400 too.
double edge(const std::string& model) {
  return model == "resident-mix" ? 1.5 : model == "norm-blocks" ? 1.8 : 1;
}

class Bf16Golden : public WithSet<::testing::TestWithParam<std::tuple<const char*, const char*>>> {
 protected:
  std::string set() const override { return std::get<0>(GetParam()); }
  std::string model() const { return std::get<1>(GetParam()); }
};

TEST_P(Bf16Golden, LossAndEveryGradient) {
  const nlohmann::json golden = golden_json(model() + ".json");
  const model::Network network = named(model());
  const bool labelled = golden["loss_kind"] != "mean_squared_error";
  const GoldenBatch batch(network, labelled, golden["batch"].get<std::int64_t>(),
                          golden["inputs_tensor"].get<std::uint32_t>());
  for (const std::int64_t micro_batch : {batch.count, batch.count / 2}) {
    const bool has_batch_norm = std::ranges::any_of(network.layers, [](const model::Layer& layer) {
      return std::holds_alternative<model::BatchNormalization>(layer.kind);
    });
    if (has_batch_norm && micro_batch != batch.count) continue;
    TrainerOptions options = in_bf16(network, 2);
    options.loss =
        labelled ? model::Loss::sparse_categorical_crossentropy : model::Loss::mean_squared_error;
    const auto trainer = cpu::make_trainer(network, options);
    assign_golden_weights(*trainer, golden["parameters"]);
    const double loss = trainer->accumulate(batch.view(), micro_batch).loss;
    EXPECT_NEAR(loss, golden["loss"].get<double>(),
                golden_tolerance * golden["loss"].get<double>());
    const std::vector<Variable> found = trainer->gradients();
    ASSERT_EQ(found.size(), golden["parameters"].size());
    double worst = 0;
    for (std::size_t p = 0; p < found.size(); ++p) {
      const nlohmann::json& expected = golden["parameters"][p]["gradient"];
      const auto stride = expected["stride"].get<std::size_t>();
      double wrong = 0, right = 0;
      for (std::size_t k = 0; k < expected["samples"].size(); ++k) {
        const double wanted = expected["samples"][k], off = found[p].values[k * stride] - wanted;
        wrong += off * off, right += wanted * wanted;
      }
      EXPECT_LE(std::sqrt(wrong),
                edge(model()) * golden_tolerance * golden_norm * std::sqrt(right) + 1e-12)
          << found[p].parameter.name;
      worst = std::max(worst, std::sqrt(wrong) / (std::sqrt(right) + 1e-12));
    }
    RecordProperty("deviation", std::to_string(worst));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Bf16Golden,
    ::testing::Combine(::testing::ValuesIn(bf16_sets),
                       ::testing::Values("paper-cnn", "small-cnn", "rgb64-cnn", "rgb128-cnn",
                                         "rgb128-cnn-slim", "linear", "mlp", "all-layers",
                                         "avg-same", "conv-regression", "dense-only", "decoder",
                                         "few-channels", "few-positions", "functions",
                                         "many-shapes", "minimal-filtering", "mobile", "noisy",
                                         "norm-blocks", "norm-fusions", "odd-channels",
                                         "overlap-pool", "penalties", "resident-mix", "sequence",
                                         "small-images", "strided-phases", "strided-same",
                                         "tiny-mlp", "to-few-channels", "transposed")),
    [](const auto& both) {
      std::string name = std::string(std::get<0>(both.param)) + "_" + std::get<1>(both.param);
      std::ranges::replace(name, '-', '_');
      return name;
    });

// Nothing switches, so that only rounding is left.
TEST_P(Bf16Training, HasTheGradientsOfFp32WithoutEdges) {
  for (const char* name : {"paper-cnn", "many-shapes", "strided-phases", "few-channels",
                           "odd-channels", "few-positions"}) {
    SCOPED_TRACE(name);
    const model::Network network = without_edges(named(name), model::Activation::tanh);
    TrainerOptions exact = in_bf16(network);
    exact.precision = Precision::fp32;
    EXPECT_GT(operations_with("bf16", *cpu::plan(network, in_bf16(network), 39, false)), 0);
    expect_near(gradients(network, in_bf16(network, 2), 39, 39), gradients(network, exact, 39, 39),
                4e-2);
  }
}

// Two dense layers, the second of any width.
model::Network two_layers(int inputs, int units) {
  const std::string n = std::to_string(inputs);
  return model::read_keras(
      R"({"class_name": "Sequential", "keras_version": "2.11.0", "config": {"name": "two", "layers": [
        {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [null, )" +
          n + R"(]}},
        {"class_name": "Dense", "config": {"name": "wide", "activation": "tanh", "units": )" +
          n +
          R"(}},
        {"class_name": "Dense", "config": {"name": "second", "activation": "tanh", "units": )" +
          std::to_string(units) + "}}]}}",
      "two-layers.json");
}
void expect_gradients_of_fp32(const model::Network& network, std::int64_t rows) {
  TrainerOptions exact = in_bf16(network, 2), half = exact;
  exact.precision = Precision::fp32;
  expect_near(gradients(network, half, rows, rows), gradients(network, exact, rows, rows), 4e-2);
}

TEST_P(Bf16Training, HasTheGradientsOfFp32InDenseLayersOfAnyWidth) {
  for (const int inputs : {64, 100, 203})
    for (const int units : {3, 33, 60, 70, 130})
      for (const std::int64_t rows : {17, 47, 200}) {
        SCOPED_TRACE(std::to_string(inputs) + " to " + std::to_string(units) + ", " +
                     std::to_string(rows) + " rows");
        expect_gradients_of_fp32(two_layers(inputs, units), rows);
      }
}

// So many gradients are not kept as pairs, and the last panel is narrower than the first.
TEST_P(Bf16Training, HasTheGradientsOfFp32InADenseLayerOfManyRows) {
  expect_gradients_of_fp32(two_layers(203, 70), 7000);
}

TEST_P(Bf16Training, IsTheSameBitForBitWhateverTheThreads) {
  for (const char* name : {"paper-cnn", "few-positions", "many-shapes", "strided-phases"}) {
    const model::Network network = named(name);
    const GoldenBatch batch(network, true, 50, 0);
    const auto curve = [&](int threads) {
      const auto trainer = cpu::make_trainer(network, in_bf16(network, threads));
      std::vector<double> losses;
      for (const std::int64_t micro_batch : {50, 50, 17, 50})
        losses.push_back(trainer->step(batch.view(), micro_batch).loss);
      return losses;
    };
    const std::vector<double> expected = curve(1);
    for (const int threads : {2, 3}) EXPECT_EQ(curve(threads), expected) << name << threads;
    // many-shapes has slots for four threads only.
    const int most_threads = network.name == "paper-cnn" ? 16 : 4;
    EXPECT_EQ(curve(most_threads), expected) << name;
  }
}

void expect_rounded_weights_of(Optimizer::Kind kind) {
  const model::Network network = named("paper-cnn");
  const auto with = [&](int threads) {
    TrainerOptions options = in_bf16(network, threads);
    options.optimizer.kind = kind;
    return options;
  };
  const GoldenBatch batch(network, true, 50, 0);
  GoldenBatch zeros = batch;
  std::ranges::fill(zeros.inputs, 0.f);
  const auto trainer = cpu::make_trainer(network, with(3));
  const auto fresh_after = [&](const GoldenBatch& samples, std::int64_t micro_batch) {
    const auto fresh = cpu::make_trainer(network, with(1));
    fresh->restore(trainer->checkpoint());
    fresh->step(samples.view(), micro_batch);
    return fresh->checkpoint().weights;
  };
  const auto expect_as_fresh = [&](const char* what, const GoldenBatch& samples,
                                   std::int64_t micro_batch) {
    const std::vector<float> expected = fresh_after(samples, micro_batch);
    trainer->step(samples.view(), micro_batch);
    EXPECT_EQ(trainer->checkpoint().weights, expected) << what;
  };
  expect_as_fresh("first", batch, 50);
  expect_as_fresh("next", batch, 50);
  expect_as_fresh("another executor", batch, 25);
  expect_as_fresh("the first one again", batch, 50);
  expect_as_fresh("nothing but zeros", zeros, 50);
  std::vector<Variable> half = trainer->variables();
  for (Variable& variable : half)
    for (float& value : variable.values) value /= 2;
  trainer->assign(half);
  expect_as_fresh("assigned", batch, 50);
  trainer->evaluate_gradients(batch.view());
  expect_as_fresh("gradients in between", batch, 50);
  for (float& weight : trainer->trainable_weights()) weight *= 1.5f;
  expect_as_fresh("written by others", batch, 50);
}

// One thread adds a slot where its last block ends; others add whole slots.
TEST_P(Bf16Training, IsTheSameWithSeveralBlocksOfASlot) {
  const model::Network network = named("paper-cnn");
  constexpr std::int64_t size = 300;  // 19 blocks of samples in 16 slots
  const GoldenBatch batch(network, true, size, 0);
  const auto weights_after = [&](int threads) {
    const auto trainer = cpu::make_trainer(network, in_bf16(network, threads));
    for (int step = 0; step < 2; ++step) trainer->step(batch.view(), size);
    return trainer->checkpoint().weights;
  };
  EXPECT_EQ(weights_after(1), weights_after(3));
}

// An update leaves the rounded weights for the next step, unless the weights change otherwise: Adam
// where it makes them, the others afterwards.
TEST_P(Bf16Training, MultipliesTheWeightsAsTheyAre) {
  for (const auto kind :
       {Optimizer::Kind::adam, Optimizer::Kind::adamw, Optimizer::Kind::momentum}) {
    SCOPED_TRACE(name(kind));
    expect_rounded_weights_of(kind);
  }
}

TEST_P(Bf16Training, MeasuresGradientNormsWithoutChangingABit) {
  const model::Network network = named("paper-cnn");
  const GoldenBatch batch(network, true, 64, 0);
  TrainerOptions options = in_bf16(network, 2);
  const auto plain = cpu::make_trainer(network, options);
  options.gradient_norms = true;
  const auto measuring = cpu::make_trainer(network, options);
  bool measured = false;
  for (int step = 0; !measured && step < 100; ++step) {
    plain->step(batch.view(), 64);
    measured = measuring->step(batch.view(), 64).gradient_norms.has_value();
  }
  EXPECT_TRUE(measured);
  EXPECT_EQ(measuring->checkpoint().weights, plain->checkpoint().weights);
}

TEST_P(Bf16Training, AccumulatesAsTheWholeBatch) {
  const model::Network network = named("paper-cnn");
  expect_near(gradients(network, in_bf16(network), 60, 20),
              gradients(network, in_bf16(network), 60, 60), 1e-3);
}

TEST_P(Bf16Training, KeepsUpdatesThatBf16WouldLose) {
  // 1e-6 is far below the spacing of bf16 numbers at a typical weight.
  const model::Network network = named("paper-cnn");
  TrainerOptions options = in_bf16(network);
  options.optimizer.kind = Optimizer::Kind::adam;
  options.optimizer.learning_rate = 1e-6;
  const auto trainer = cpu::make_trainer(network, options);
  const std::vector<Variable> before = trainer->variables();
  const GoldenBatch batch(network, true, 32, 0);
  trainer->step(batch.view(), 32);
  const std::vector<Variable> after = trainer->variables();
  std::int64_t moved = 0, bf16_moved = 0;
  for (std::size_t i = 0; i < before[0].values.size(); ++i) {
    moved += before[0].values[i] != after[0].values[i];
    bf16_moved += rounded(before[0].values[i]) != rounded(after[0].values[i]);
  }
  EXPECT_GT(moved, static_cast<std::int64_t>(before[0].values.size() / 2));
  EXPECT_LT(bf16_moved, moved / 10);
}

TEST_P(Bf16Memory, IsPredictedToTheByte) {
  for (const char* name : {"paper-cnn", "rgb64-cnn", "many-shapes", "few-channels", "few-positions",
                           "strided-phases", "small-images"})
    for (const std::int64_t micro_batch : {1, 7, 64}) {
      const model::Network network = named(name);
      const TrainerOptions options = in_bf16(network, 3);
      const core::Bytes before = core::live_buffers().total();
      const auto trainer = cpu::make_trainer(network, options);
      const GoldenBatch batch(network, options.loss != model::Loss::mean_squared_error, micro_batch,
                              0);
      trainer->step(batch.view(), micro_batch);
      trainer->evaluate(batch.view());
      EXPECT_EQ(core::live_buffers().total() - before,
                cpu::plan(network, options, micro_batch, true)->memory().total())
          << name << " at " << micro_batch;
    }
}

TEST(CpuPrecision, OthersAreRefused) {
  const model::Network network = named("linear");
  TrainerOptions options;
  for (const Precision precision : {Precision::tf32, Precision::fp16}) {
    options.precision = precision;
    EXPECT_THROW(cpu::make_trainer(network, options), core::InputError);
  }
  if (cpu::bf16_support().kernels) return;
  options.precision = Precision::bf16;
  EXPECT_THROW(cpu::make_trainer(network, options), core::InputError);
}

}  // namespace
}  // namespace sweetspot::engine
