#include "engine/cpu/kernels/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace sweetspot::engine::cpu {
namespace {

TEST(KeepMask, IsTheCounterBasedGenerator) {
  const core::Random random(42, core::Purpose::dropout, 9, 3);
  const std::int64_t count = 150;
  const std::uint32_t threshold = 1u << 30;
  std::vector<std::uint16_t> keep(count / 16 + 2, 77);
  const std::uint64_t first = (std::uint64_t{1} << 32) - 8;  // counters cross 32 bits
  kernels().keep_mask(42 ^ (std::uint64_t{3} << 32),
                      static_cast<std::uint32_t>(core::Purpose::dropout), 9, first, threshold,
                      count, keep.data());
  for (std::int64_t e = 0; e < count; ++e) {
    const auto words = random.words(first + static_cast<std::uint64_t>(e / 64 * 16 + e % 16));
    EXPECT_EQ((keep[static_cast<std::size_t>(e / 16)] >> e % 16 & 1) != 0,
              words[static_cast<std::size_t>(e / 16 % 4)] >= threshold)
        << e;
  }
  EXPECT_EQ(keep.back(), 77) << "wrote beyond the end";
}

TEST(Stream, CopiesToWhereverItIs) {
  std::vector<float> from(64), to(64 + 32, -1.f);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  for (std::size_t offset = 0; offset < 16; ++offset) {  // some at the start of a cache line
    std::fill(to.begin(), to.end(), -1.f);
    kernels().stream(from.data(), 64, to.data() + offset);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.data() + offset)) << offset;
    EXPECT_EQ(std::count(to.begin(), to.end(), -1.f), 32) << offset;
  }
}

TEST(NormalNoise, IsBoxAndMullersOfTheSameWords) {
  const core::Random random(42, core::Purpose::dropout, 9, 3);
  const std::int64_t count = 64 * 400;
  std::vector<float> noise(count);
  kernels().layers.normal_noise(42 ^ (std::uint64_t{3} << 32),
                                static_cast<std::uint32_t>(core::Purpose::dropout), 9, 0, count,
                                noise.data());
  double sum = 0, squares = 0;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto words = random.words(static_cast<std::uint64_t>(e / 64 * 16 + e % 16));
    const std::size_t pair = e / 32 % 2 ? 2 : 0;
    const double u = ((words[pair] >> 8) + 1.0) * 0x1p-24, v = (words[pair + 1] >> 8) * 0x1p-24;
    const double angle = 2 * M_PI * (v - 0.5);
    const double expected =
        std::sqrt(-2 * std::log(u)) * (e / 16 % 2 ? std::sin(angle) : std::cos(angle));
    ASSERT_NEAR(noise[static_cast<std::size_t>(e)], expected, 2e-5) << e;
    sum += expected, squares += expected * expected;
  }
  EXPECT_NEAR(sum / count, 0, 0.03);
  EXPECT_NEAR(squares / count, 1, 0.04);
}

// Including extremes: activations must preserve NaN, and must not create one.
TEST(ElementFunctions, AreWithinRoundingOfTheLibrarysAndFiniteAtTheExtremes) {
  using Kind = ElementFunction::Kind;
  const std::pair<Kind, double (*)(double)> functions[] = {
      {Kind::elu, [](double x) { return x > 0 ? x : std::expm1(x); }},
      {Kind::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {Kind::swish, [](double x) { return x / (1 + std::exp(-x)); }},
      {Kind::softplus,
       [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
      {Kind::softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {Kind::exponential, [](double x) { return std::exp(x); }}};
  for (const auto& [kind, exact] : functions)
    for (float x = -80; x <= 80; x += 0.37f) {
      std::vector<float> in(unit, x), out(unit), ones(unit, 1.f), slope(unit);
      const ElementFunction f{kind, 1, 0, 0};
      kernels().layers.apply(f, in.data(), unit, out.data());
      ASSERT_NEAR(out[5], exact(x), 1e-6 * std::max(1.0, std::abs(exact(x))))
          << static_cast<int>(kind) << " at " << x;
      kernels().layers.apply_back(f, derives_from_input(kind) ? in.data() : out.data(), ones.data(),
                                  unit, slope.data());
      ASSERT_TRUE(std::isfinite(slope[5])) << static_cast<int>(kind) << " at " << x;
    }
}

// As PyTorch's and TensorFlow's: images have zeros exactly, before a bias has learned anything.
TEST(ElementFunctions, RectifiedHaveTheSlopeBelowAtZeroAndNoneAtTheMost) {
  const ElementFunction f{ElementFunction::Kind::rectified, 0.3f, 0, 6};
  const std::pair<float, float> slopes[] = {{-1, 0.3f}, {0, 0.3f}, {3, 1}, {6, 0}, {7, 0}};
  for (const auto& [x, slope] : slopes) {
    const std::vector<float> in(unit, x), ones(unit, 1.f);
    std::vector<float> found(unit);
    kernels().layers.apply_back(f, in.data(), ones.data(), unit, found.data());
    EXPECT_FLOAT_EQ(found[5], slope) << x;
  }
}

TEST(Philox, MatchesTheKnownAnswers) {  // from the Random123 distribution's kat_vectors
  using Words = core::Philox::Words;
  EXPECT_EQ(core::Philox::at(0, {0, 0, 0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(core::Philox::at(~0ull, {~0u, ~0u, ~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(core::Philox::at(0x299f31d0'a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PoolWindows, NamesTheFirstOfEqualWinnersAndNoneBelowZero) {
  std::vector<float> in(2 * 4 * unit, -1.f), out(2 * unit);
  in[1 * unit + 3] = in[2 * unit + 3] = 5;
  std::vector<std::uint8_t> winner(2 * unit);
  kernels().pool_windows({in.data(), 2, 4, true, out.data(), winner.data()});
  EXPECT_EQ(winner[3], 1);
  EXPECT_EQ(out[3], 5);
  EXPECT_EQ(winner[4], no_gradient);
  EXPECT_EQ(out[4], 0);
}

// Values of every size, both signs, in whole units.
std::vector<float> many_sizes() {
  std::vector<float> values;
  for (float x = 1e-30f; x < 1e30f; x *= 1.03f) values.push_back(x), values.push_back(-x);
  for (float x = -20; x < 20; x += 0.01f) values.push_back(x);
  values.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(values.size()), unit)));
  return values;
}

std::vector<float> activated(Function function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  kernels().activate(function, x.data(), static_cast<std::int64_t>(x.size()), y.data());
  return y;
}

TEST(MultiplyPooled, IsTheProductAndThenItsPool) {
  const core::Random random(7, core::Purpose::dropout, 1, 1);
  std::uint64_t drawn = 0;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values)
      value = static_cast<float>(static_cast<std::int32_t>(random.words(drawn++)[0])) * 0x1p-31f;
    return values;
  };
  for (const std::int64_t windows : {1, 2, 3, 7})
    for (std::int64_t width = unit; width <= panel; width += unit)
      for (const bool relu : {false, true}) {
        const std::int64_t rows = 4 * windows, run = 5, depth = 2 * run;
        const auto a = numbers(rows + 3 + run), b = numbers(depth * width), bias = numbers(width);
        std::vector<std::int32_t> offsets(static_cast<std::size_t>(rows));
        for (std::size_t r = 0; r < offsets.size(); ++r) offsets[r] = static_cast<std::int32_t>(r);
        const std::vector<std::int32_t> segments{0, 3};
        Multiply m{};
        m.a = a.data(), m.row_offsets = offsets.data(), m.rows = rows;
        m.segment_offsets = segments.data(), m.segments = 2, m.run = run;
        m.b = b.data(), m.width = width, m.bias = relu ? bias.data() : nullptr;
        const auto count = static_cast<std::size_t>(windows * width);
        std::vector<float> sums(4 * count), expected(count), out(count);
        std::vector<std::uint8_t> expected_winner(count), winner(count);

        Multiply stored = m;
        stored.c = sums.data(), stored.c_row_stride = unit, stored.c_unit_stride = rows * unit;
        kernels().multiply(stored);
        for (std::int64_t n = 0; n < width; n += unit)
          kernels().pool_windows({sums.data() + n * rows, windows, 4, relu,
                                  expected.data() + n * windows,
                                  expected_winner.data() + n * windows});
        m.relu = relu;
        kernels().multiply_pooled({m, windows, windows * unit, out.data(), winner.data()});
        EXPECT_EQ(out, expected) << windows << " windows, " << width << " columns";
        EXPECT_EQ(winner, expected_winner);
      }
}

TEST(Activate, IsTheFunctionToAFewUnitsInTheLastPlace) {
  const std::vector<float> x = many_sizes();
  const std::vector<float> tanh = activated(Function::tanh, x),
                           sigmoid = activated(Function::sigmoid, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::tanh(double{x[i]}), s = 1 / (1 + std::exp(-double{x[i]}));
    EXPECT_NEAR(tanh[i], t, 8 * 0x1p-24 * std::abs(t) + 1e-37) << x[i];
    EXPECT_NEAR(sigmoid[i], s, 8 * 0x1p-24 * s + 1e-37) << x[i];
  }
}

TEST(Activate, PassesANaN) {
  const std::vector<float> x(unit, std::numeric_limits<float>::quiet_NaN());
  for (const Function function : {Function::relu, Function::sigmoid, Function::tanh})
    EXPECT_TRUE(std::isnan(activated(function, x)[3]));
}

TEST(Softmax, IsExactEnoughForLogitsOfAnySize) {
  for (const std::int64_t count : {1, 3, 16, 37}) {
    std::vector<float> logits;
    for (std::int64_t i = 0; i < count; ++i) logits.push_back(static_cast<float>(i % 5) * 30 - 60);
    const float largest = *std::ranges::max_element(logits);
    double expected = 0;
    for (const float x : logits) expected += std::exp(double{x} - largest);
    std::vector<float> values = logits;
    EXPECT_NEAR(kernels().softmax(values.data(), count, largest), expected, 1e-6 * expected);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double p = std::exp(double{logits[at]} - largest) / expected;
      EXPECT_NEAR(values[at], p, 1e-6 * p + 1e-37);
    }
  }
}

// Rows of B after each segment that are zero need not be multiplied.
TEST(Product, SkipsRowsAfterEachSegment) {
  constexpr std::int64_t rows = 31, segments = 7, run = 5, skipped = 11;
  constexpr std::int64_t depth = segments * (run + skipped);
  for (const std::int64_t width : {16, 48, 64}) {
    std::vector<float> a(rows * depth), b(static_cast<std::size_t>(depth * width));
    const core::Random random(4, core::Purpose::dropout, 0, 0);
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<float>(random.words(i)[0]) * 0x1p-32f - 0.5f;
    std::vector<std::int32_t> offsets;
    for (std::int64_t s = 0; s < segments; ++s) {
      offsets.push_back(static_cast<std::int32_t>(s * (run + skipped)));
      for (std::int64_t i = 0; i < run * width; ++i)
        b[static_cast<std::size_t>(s * (run + skipped) * width + i)] =
            static_cast<float>(random.words(static_cast<std::uint64_t>(i + s * 1000))[1]) *
                0x1p-32f -
            0.5f;
    }
    std::vector<float> whole(static_cast<std::size_t>(rows * width)), parts = whole;
    Multiply m{};
    m.a = a.data(), m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = depth;
    m.b = b.data(), m.width = width;
    m.c = whole.data(), m.c_row_stride = width, m.c_unit_stride = unit;
    kernels().multiply(m);
    m.segments = segments, m.segment_offsets = offsets.data(), m.run = run, m.skipped = skipped;
    m.c = parts.data();
    kernels().multiply(m);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-6);
  }
}

// A convolution of one tile by the transforms, against the direct sum. One tap is missing.
TEST(Filter, ConvolvesATileAndBothItsGradients) {
  for (const Filter& filter : minimal_filters) {
    SCOPED_TRACE(fmt::format("tile {}, size {}, flat {}", filter.tile, filter.size, filter.flat));
    const std::int64_t side = filter.side(), size = filter.size, tile = filter.tile;
    const std::int64_t outputs = filter.tile_lines() * tile;
    const auto values = [](std::int64_t count, std::uint64_t purpose) {
      std::vector<float> made(static_cast<std::size_t>(count * unit));
      const core::Random random(purpose, core::Purpose::dropout, 0, 0);
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = static_cast<float>(random.words(i)[0]) * 0x1p-32f - 0.5f;
      return made;
    };
    const std::vector<float> in = values(filter.points(), 1), taps = values(filter.taps(), 2),
                             gradient = values(outputs, 3);
    const auto floats = static_cast<std::size_t>(filter.points() * unit);
    std::vector<float> input(floats), weights(floats), back(floats), product(floats);
    kernels().filter_input(filter, {in.data(), side * unit, unit}, input.data(), unit);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(filter.taps()));
    std::iota(rows.begin(), rows.end(), 0);
    rows[1] = -1;
    const TapRows at_rows{rows.data(), unit};
    kernels().filter_weights(filter, taps.data(), at_rows, weights.data(), unit);
    kernels().filter_gradient(filter, gradient.data(), tile * unit, back.data(), unit);
    const auto at = [](const std::vector<float>& v, std::int64_t i, std::int64_t lane) {
      return v[static_cast<std::size_t>(i * unit + lane)];
    };

    for (std::size_t i = 0; i < floats; ++i) product[i] = input[i] * weights[i];
    std::vector<float> out(static_cast<std::size_t>(outputs * unit), 9.f);
    kernels().filter_output(filter, {product.data(), unit, nullptr, false, out.data(), tile * unit,
                                     unit, filter.tile_lines(), tile - 1});
    for (std::size_t i = 0; i < floats; ++i) product[i] = input[i] * back[i];
    std::vector<float> slopes(static_cast<std::size_t>(filter.taps() * unit), 1.f);
    kernels().filter_weight_gradient(filter, product.data(), unit, at_rows, slopes.data());

    // What output i reads with tap t.
    const auto read = [&](std::int64_t i, std::int64_t t) {
      return (i / tile + t / size) * side + i % tile + t % size;
    };
    for (std::int64_t lane = 0; lane < unit; ++lane) {
      for (std::int64_t i = 0; i < outputs; ++i) {
        double sum = 0;
        for (std::int64_t t = 0; t < filter.taps(); ++t)
          if (t != 1) sum += double{at(in, read(i, t), lane)} * at(taps, t, lane);
        EXPECT_NEAR(at(out, i, lane), i % tile < tile - 1 ? sum : 9, 2e-5);
      }
      for (std::int64_t t = 0; t < filter.taps(); ++t) {
        double sum = 1;
        for (std::int64_t i = 0; t != 1 && i < outputs; ++i)
          sum += double{at(in, read(i, t), lane)} * at(gradient, i, lane);
        EXPECT_NEAR(at(slopes, t, lane), sum, 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace sweetspot::engine::cpu
