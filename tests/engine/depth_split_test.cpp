#include "engine/cpu/ops/depth_split.h"

#include <gtest/gtest.h>

#include <vector>

namespace sweetspot::engine::cpu {
namespace {

TEST(DepthSplit, GivesEveryLeafOfEveryPanelToOnePart) {
  for (const std::int64_t depth : {64, 544, 1024, 4608})
    for (const std::int64_t columns : {16, 64, 80, 512})
      for (const int parts : {1, 2, 3, 5, 8, 16, 24}) {
        const DepthSplit split(depth, columns, 4);
        ASSERT_TRUE(split.pays()) << depth;
        for (std::int64_t in_panel = 0; in_panel < pieces(columns, panel); ++in_panel) {
          std::int64_t leaf = 0;
          for (int part = 0; part < parts; ++part) {
            const Range mine = split.leaves(in_panel, part, parts);
            EXPECT_EQ(mine.begin, leaf) << "part " << part << " of " << parts;
            leaf = mine.end;
          }
          EXPECT_EQ(leaf, split.leaves());
        }
        EXPECT_EQ(split.rows({0, split.leaves()}).end, depth);
      }
}

// The nodes that one part sums are those that another looks for.
TEST(DepthSplit, NodesOfThePartsAreThoseWithOneOwner) {
  const DepthSplit split(1024, 512, 16);
  ASSERT_EQ(split.leaves(), 8);
  for (const int parts : {2, 3, 5, 8, 13, 16, 24})
    for (std::int64_t in_panel = 0; in_panel < 8; ++in_panel) {
      std::int64_t leaf = 0;
      for (int part = 0; part < parts; ++part)
        split.each_node(split.leaves(in_panel, part, parts), [&](const Range& node) {
          EXPECT_EQ(node.begin, leaf) << "nodes follow each other";
          EXPECT_TRUE(split.has_one_owner(node, in_panel, parts));
          const std::int64_t size = node.end - node.begin,
                             parent = node.begin / (2 * size) * 2 * size;
          EXPECT_FALSE(split.has_one_owner({parent, parent + 2 * size}, in_panel, parts));
          leaf = node.end;
        });
      EXPECT_EQ(leaf, 8);
    }
}

TEST(DepthSplit, PaysWhereTheSumsAreSmallerThanTheWeights) {
  EXPECT_TRUE(DepthSplit(1024, 512, 256).pays());
  EXPECT_FALSE(DepthSplit(1024, 512, 257).pays());
  EXPECT_FALSE(DepthSplit(48, 512, 1).pays()) << "leaves of less than a kernel's tile";
  for (const std::int64_t rows : {1, 16, 100, 256}) {
    const DepthSplit split(1024, 512, rows);
    EXPECT_LE(split.leaves() * rows, split.most_sum_rows()) << rows;
    EXPECT_LE(split.most_sum_rows(), 512) << rows;
  }
}

}  // namespace
}  // namespace sweetspot::engine::cpu
