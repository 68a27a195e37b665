#include "engine/cpu/ops/tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace sweetspot::engine::cpu {
namespace {

using namespace ::testing;

constexpr std::int64_t most_rows = 48;

// How often each (panel, row) was visited, and how many by each part.
struct Dealt {
  std::map<std::pair<std::int64_t, std::int64_t>, int> visits;
  std::vector<std::int64_t> rows_of_part;
};

Dealt deal(std::int64_t rows, std::int64_t columns, Split split, int parts) {
  Dealt dealt;
  for (int part = 0; part < parts; ++part) {
    std::int64_t mine = 0;
    each_tile(rows, columns, most_rows, split, part, parts,
              [&](std::int64_t n, std::int64_t row, std::int64_t count) {
                EXPECT_LE(count, most_rows);
                for (std::int64_t r = row; r < row + count; ++r) ++dealt.visits[{n, r}];
                mine += count;
              });
    dealt.rows_of_part.push_back(mine);
  }
  return dealt;
}

TEST(Tiles, CoverTheMatrixOnce) {
  for (const Split split : {Split::panels, Split::rows})
    for (const std::int64_t rows : {1, 2, 16, 24, 47, 48, 49, 64, 100, 129, 1000})
      for (const std::int64_t columns : {16, 64, 80, 512})
        for (const int parts : {1, 2, 3, 5, 16}) {
          const Dealt dealt = deal(rows, columns, split, parts);
          EXPECT_EQ(std::ssize(dealt.visits), rows * pieces(columns, panel))
              << rows << " rows, " << columns << " columns, " << parts << " parts";
          EXPECT_THAT(dealt.visits, Each(Pair(_, 1)));
        }
}

// A layer of ten outputs has a single panel: only its rows can be divided.
TEST(Tiles, GiveEveryPartAsMuchWhereOnePanelIsAll) {
  for (const std::int64_t rows : {16, 24, 48, 64, 100, 128, 200})
    for (const int parts : {2, 3, 8}) {
      const Dealt dealt = deal(rows, 16, Split::panels, parts);
      const auto [least, most] = std::ranges::minmax(dealt.rows_of_part);
      EXPECT_LE(most - least, std::max<std::int64_t>(1, rows / parts / 4))
          << rows << " rows, " << parts << " parts";
    }
}

TEST(Tiles, OfManyPanelsStayWhole) {
  for (const int parts : {2, 7, 13})
    each_tile(most_rows, 144 * panel, most_rows, Split::panels, 0, parts,
              [&](std::int64_t, std::int64_t, std::int64_t count) {
                EXPECT_EQ(count, most_rows) << parts;
              });
}

TEST(Tiles, GiveAPartTheSameSamplesThatItsShareIs) {
  for (const std::int64_t rows : {32, 64, 100})
    for (int part = 0; part < 2; ++part) {
      const Range mine = share(rows, part, 2);
      each_tile(rows, 1024, most_rows, Split::rows, part, 2,
                [&](std::int64_t, std::int64_t row, std::int64_t count) {
                  EXPECT_GE(row, mine.begin);
                  EXPECT_LE(row + count, mine.end);
                });
    }
}

}  // namespace
}  // namespace sweetspot::engine::cpu
