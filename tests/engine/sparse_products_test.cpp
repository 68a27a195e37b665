#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "bf16_sets.h"
#include "core/random.h"
#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {
namespace {

// Values in [-1, 1), of which some are zero.
std::vector<float> values(std::int64_t count, double density, std::uint32_t stream) {
  const core::Random random(7, core::Purpose::dropout, 0, stream);
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto words = random.words(static_cast<std::uint64_t>(i));
    const bool kept = words[0] * 0x1p-32 < density;
    all.push_back(kept ? static_cast<float>(words[1] * 0x1p-31 - 1) : 0.f);
  }
  return all;
}

// With a table of their offsets the rows of A might overlap, and no kernel looks for zeros.
std::vector<std::int32_t> offsets(std::int64_t rows, std::int64_t stride) {
  std::vector<std::int32_t> of;
  for (std::int64_t r = 0; r < rows; ++r) of.push_back(static_cast<std::int32_t>(r * stride));
  return of;
}

// Rows, depth and the share of A that is not zero.
class SparseProducts
    : public ::testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, double>> {
 protected:
  const std::int64_t rows = std::get<0>(GetParam()), depth = std::get<1>(GetParam());
  const std::int64_t stride = depth + unit;
  const std::vector<float> a = values(rows * stride, std::get<2>(GetParam()), 1);
};

// A thread may see other rows than another, and may judge differently whether zeros are many: the
// results must be the same.
TEST_P(SparseProducts, AreTheDenseOnesBitForBit) {
  const std::vector<float> b = values(depth * panel, 1, 2), bias = values(panel, 1, 3);
  const std::vector<std::int32_t> places = offsets(rows, stride);
  for (const bool adds : {false, true})
    for (const bool relu : {false, true}) {
      std::vector<float> c = values(rows * panel, 1, 4), dense = c;
      Multiply m{};
      m.a = a.data(), m.row_stride = stride, m.rows = rows, m.segments = 1, m.run = depth;
      m.b = b.data(), m.width = panel, m.bias = adds ? nullptr : bias.data();
      m.adds = adds, m.relu = relu;
      m.c = c.data(), m.c_row_stride = panel, m.c_unit_stride = unit;
      kernels().multiply(m);
      m.row_offsets = places.data(), m.c = dense.data();
      kernels().multiply(m);
      EXPECT_EQ(c, dense) << adds << relu;
      for (const std::int64_t r : {std::int64_t{0}, rows - 1}) {
        double sum =
            adds ? values(rows * panel, 1, 4).at(static_cast<std::size_t>(r * panel + 5)) : bias[5];
        for (std::int64_t k = 0; k < depth; ++k)
          sum += double{a[static_cast<std::size_t>(r * stride + k)]} *
                 b[static_cast<std::size_t>(k * panel + 5)];
        EXPECT_NEAR(c[static_cast<std::size_t>(r * panel + 5)], relu ? std::max(sum, 0.0) : sum,
                    1e-4 * std::sqrt(static_cast<double>(depth)));
      }
    }
}

TEST_P(SparseProducts, GiveTheDenseWeightGradientBitForBit) {
  const std::vector<float> g = values(rows * panel, 1, 5);
  const std::vector<std::int32_t> places = offsets(rows, stride);
  for (const bool accumulate : {false, true}) {
    std::vector<float> d = values(depth * panel, 1, 6), dense = d;
    Outer o{};
    o.a = a.data(), o.row_stride = stride, o.rows = rows, o.depth = depth;
    o.g = g.data(), o.g_row_stride = panel, o.g_unit_stride = unit, o.width = panel;
    o.d = d.data(), o.accumulate = accumulate;
    kernels().outer(o);
    o.row_offsets = places.data(), o.d = dense.data();
    kernels().outer(o);
    EXPECT_EQ(d, dense) << accumulate;
  }
}

TEST_P(SparseProducts, OfTwoPanelsAreThoseOfEach) {
  const std::int64_t apart = depth * panel + unit, wide = 2 * panel + unit;
  const std::vector<float> b = values(2 * apart, 1, 2), bias = values(2 * panel, 1, 3);
  for (const bool adds : {false, true}) {
    std::vector<float> both = values(rows * wide, 1, 4), each = both;
    Multiply m{};
    m.a = a.data(), m.row_stride = stride, m.rows = rows, m.segments = 1, m.run = depth;
    m.b = b.data(), m.width = panel;
    m.bias = adds ? nullptr : bias.data(), m.adds = adds, m.relu = true;
    m.c = both.data(), m.c_row_stride = wide, m.c_unit_stride = unit;
    kernels().multiply_two(m, {apart, panel});
    m.c = each.data();
    kernels().multiply(m);
    m.b += apart, m.c += panel, m.bias = adds ? nullptr : bias.data() + panel;
    kernels().multiply(m);
    EXPECT_EQ(both, each) << adds;
  }
}

TEST_P(SparseProducts, GiveTwoPanelsTheWeightGradientOfEach) {
  const std::int64_t apart = depth * panel + unit, wide = 2 * panel;
  const std::vector<float> g = values(rows * wide, 1, 5);
  for (const bool accumulate : {false, true}) {
    std::vector<float> both = values(2 * apart, 1, 6), each = both;
    Outer o{};
    o.a = a.data(), o.row_stride = stride, o.rows = rows, o.depth = depth;
    o.g = g.data(), o.g_row_stride = wide, o.g_unit_stride = unit;
    o.width = panel, o.d = both.data(), o.accumulate = accumulate;
    kernels().outer_two(o, {panel, apart});
    o.d = each.data();
    kernels().outer(o);
    o.g += panel, o.d += apart;
    kernels().outer(o);
    EXPECT_EQ(both, each) << accumulate;
  }
}

// The same in pairs of bf16, of which both must be zero.
class SparsePairs : public SparseProducts {
 protected:
  void SetUp() override {
    bf16 = sweetspot::engine::testing::bf16_kernels_of("avx512bf16");
    if (!bf16) GTEST_SKIP() << bf16_support().reason;
  }
  std::vector<Bf16> rounded(const std::vector<float>& from) const {
    std::vector<Bf16> to(from.size());
    bf16->round(from.data(), std::ssize(from), to.data());
    return to;
  }
  // Rows of `from`, `from_stride` apart, in pairs.
  std::vector<Bf16> pairs(const std::vector<float>& from, std::int64_t from_stride,
                          std::int64_t count, std::int64_t columns) const {
    std::vector<Bf16> to(static_cast<std::size_t>((count + 1) / 2 * 2 * columns));
    bf16->pair_rows(from.data(), from_stride, count, columns, to.data(), 2 * columns);
    return to;
  }
  const Bf16Kernels* bf16 = nullptr;
};

TEST_P(SparsePairs, AreTheDenseOnesBitForBit) {
  const std::vector<Bf16> left = rounded(a);
  const std::vector<Bf16> b = pairs(values(depth * panel, 1, 2), panel, depth, panel);
  const std::vector<float> bias = values(panel, 1, 3);
  const std::vector<std::int32_t> places = offsets(rows, stride);
  for (const bool adds : {false, true})
    for (const bool relu : {false, true}) {
      std::vector<float> c = values(rows * panel, 1, 4), dense = c;
      Product<Bf16> m{};
      m.a = left.data(), m.row_stride = stride, m.rows = rows, m.segments = 1, m.run = depth;
      m.b = b.data(), m.width = panel, m.bias = adds ? nullptr : bias.data();
      m.adds = adds, m.relu = relu;
      m.c = c.data(), m.c_row_stride = panel, m.c_unit_stride = unit;
      bf16->multiply(m);
      m.row_offsets = places.data(), m.c = dense.data();
      bf16->multiply(m);
      EXPECT_EQ(c, dense) << adds << relu;
    }
}

TEST_P(SparsePairs, GiveTheDenseWeightGradientBitForBit) {
  const std::vector<Bf16> left = pairs(a, stride, rows, depth);
  const std::vector<Bf16> g = pairs(values(rows * panel, 1, 5), panel, rows, panel);
  const std::vector<std::int32_t> places = offsets((rows + 1) / 2, 2 * depth);
  for (const bool accumulate : {false, true}) {
    std::vector<float> d = values(depth * panel, 1, 6), dense = d;
    OuterProduct<Bf16> o{};
    o.a = left.data(), o.row_stride = 2 * depth, o.rows = (rows + 1) / 2, o.depth = depth;
    o.g = g.data(), o.g_row_stride = 2 * panel, o.g_unit_stride = 2 * unit, o.width = panel;
    o.d = d.data(), o.accumulate = accumulate;
    bf16->outer(o);
    o.row_offsets = places.data(), o.d = dense.data();
    bf16->outer(o);
    EXPECT_EQ(d, dense) << accumulate;
  }
}

TEST_P(SparsePairs, OfTwoPanelsAreThoseOfEach) {
  const std::int64_t wide = 2 * panel + unit;
  const std::vector<Bf16> left = rounded(a);
  std::vector<Bf16> b = pairs(values(depth * panel, 1, 2), panel, depth, panel);
  const std::int64_t apart = std::ssize(b);
  const std::vector<Bf16> other = pairs(values(depth * panel, 1, 8), panel, depth, panel);
  b.insert(b.end(), other.begin(), other.end());
  const std::vector<float> bias = values(2 * panel, 1, 3);
  for (const bool adds : {false, true}) {
    std::vector<float> both = values(rows * wide, 1, 4), each = both;
    Product<Bf16> m{};
    m.a = left.data(), m.row_stride = stride, m.rows = rows, m.segments = 1, m.run = depth;
    m.b = b.data(), m.width = panel;
    m.bias = adds ? nullptr : bias.data(), m.adds = adds, m.relu = true;
    m.c = both.data(), m.c_row_stride = wide, m.c_unit_stride = unit;
    bf16->multiply_two(m, {apart, panel});
    m.c = each.data();
    bf16->multiply(m);
    m.b += apart, m.c += panel, m.bias = adds ? nullptr : bias.data() + panel;
    bf16->multiply(m);
    EXPECT_EQ(both, each) << adds;
  }
}

TEST_P(SparsePairs, GiveTwoPanelsTheWeightGradientOfEach) {
  const std::int64_t apart = depth * panel + unit, pair_rows = (rows + 1) / 2;
  const std::vector<Bf16> left = pairs(a, stride, rows, depth);
  std::vector<Bf16> g = pairs(values(rows * panel, 1, 5), panel, rows, panel);
  const std::int64_t next = std::ssize(g);
  const std::vector<Bf16> other = pairs(values(rows * panel, 1, 9), panel, rows, panel);
  g.insert(g.end(), other.begin(), other.end());
  for (const bool accumulate : {false, true}) {
    std::vector<float> both = values(2 * apart, 1, 6), each = both;
    OuterProduct<Bf16> o{};
    o.a = left.data(), o.row_stride = 2 * depth, o.rows = pair_rows, o.depth = depth;
    o.g = g.data(), o.g_row_stride = 2 * panel, o.g_unit_stride = 2 * unit, o.width = panel;
    o.d = both.data(), o.accumulate = accumulate;
    bf16->outer_two(o, {next, apart});
    o.d = each.data();
    bf16->outer(o);
    o.g += next, o.d += apart;
    bf16->outer(o);
    EXPECT_EQ(both, each) << accumulate;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SparseProducts,
                         ::testing::Combine(::testing::Values(13, 48, 101),
                                            ::testing::Values(32, 48, 112, 416),
                                            ::testing::Values(0., .03, .25, .5, 1.)));
INSTANTIATE_TEST_SUITE_P(Shapes, SparsePairs,
                         ::testing::Combine(::testing::Values(13, 48, 101),
                                            ::testing::Values(32, 64, 160, 416),
                                            ::testing::Values(0., .03, .25, .5, 1.)));

}  // namespace
}  // namespace sweetspot::engine::cpu
