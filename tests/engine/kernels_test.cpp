#include "engine/cpu/kernels/kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace sweetspot::engine::cpu {
namespace {

TEST(KeepMask, IsTheCounterBasedGenerator) {
  const core::Random random(42, core::Purpose::dropout, 9, 3);
  const std::int64_t count = 150;
  const std::uint32_t threshold = 1u << 30;
  std::vector<std::uint8_t> keep(count + 8, 77);
  const std::uint64_t first = (std::uint64_t{1} << 32) - 8;  // counters cross 32 bits
  kernels().keep_mask(42 ^ (std::uint64_t{3} << 32),
                      static_cast<std::uint32_t>(core::Purpose::dropout), 9, first, threshold,
                      count, keep.data());
  for (std::int64_t e = 0; e < count; ++e) {
    const auto words = random.words(first + static_cast<std::uint64_t>(e / 64 * 16 + e % 16));
    EXPECT_EQ(keep[static_cast<std::size_t>(e)],
              words[static_cast<std::size_t>(e / 16 % 4)] >= threshold)
        << e;
  }
  EXPECT_EQ(keep[count], 77) << "wrote beyond the end";
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

}  // namespace
}  // namespace sweetspot::engine::cpu
