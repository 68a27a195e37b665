#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// The rows of a weight matrix in leaves, of which each thread has some adjacent ones, so that
// backward and update read and write only its own weights. A product over the depth is then a sum
// of all threads' parts. For bitwise equal results with any number of threads it is a binary tree
// over the leaves, whose number depends only on the sizes: a thread adds the nodes it owns
// completely, and whoever needs the total adds those.
class DepthSplit {
 public:
  // For products of at most `rows` rows. The sums of all leaves must stay smaller than half of the
  // weights, or they would cost what they save.
  DepthSplit(std::int64_t depth, std::int64_t columns, std::int64_t rows)
      : units_(depth / unit),
        panels_(pieces(columns, panel)),
        most_sum_rows_(std::min(most_leaves * rows, depth / 2)) {
    while (leaves_ < most_leaves && 2 * leaves_ * rows <= depth / 2 &&
           2 * leaves_ * least_leaf <= depth)
      leaves_ *= 2;
  }

  bool pays() const { return leaves_ > 1; }
  std::int64_t leaves() const { return leaves_; }
  std::int64_t levels() const {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(leaves_)));
  }

  // Rows of the sums of all leaves; as many for a larger batch with fewer leaves, so that no batch
  // takes less memory than a smaller one.
  std::int64_t most_sum_rows() const { return most_sum_rows_; }

  // Rows of some leaves.
  Range rows(const Range& leaves) const {
    return {units_ * leaves.begin / leaves_ * unit, units_ * leaves.end / leaves_ * unit};
  }
  // The leaves of a panel that a part has.
  Range leaves(std::int64_t in_panel, int part, int parts) const {
    const Range cells = share(leaves_ * panels_, part, parts);
    const auto first_at = [&](std::int64_t cell) {
      return pieces(std::max<std::int64_t>(cell - in_panel, 0), panels_);
    };
    return {first_at(cells.begin), first_at(cells.end)};
  }

  // Whether one part has all these leaves of a panel.
  bool has_one_owner(const Range& node, std::int64_t in_panel, int parts) const {
    const auto owner = [&](std::int64_t leaf) {
      return ((leaf * panels_ + in_panel + 1) * parts - 1) / (leaves_ * panels_);
    };
    return owner(node.begin) == owner(node.end - 1);
  }

  // Calls visit(leaves) for the largest nodes of the tree within `mine`.
  template <class Visit>
  void each_node(const Range& mine, Visit visit) const {
    descend({0, leaves_}, mine, visit);
  }

 private:
  template <class Visit>
  void descend(const Range& node, const Range& mine, Visit visit) const {
    if (node.end <= mine.begin || mine.end <= node.begin) return;
    if (mine.begin <= node.begin && node.end <= mine.end) return visit(node);
    const std::int64_t middle = (node.begin + node.end) / 2;
    descend({node.begin, middle}, mine, visit);
    descend({middle, node.end}, mine, visit);
  }

  // Shorter products cost more. With more threads than leaves, several threads share a leaf's
  // panels.
  static constexpr std::int64_t most_leaves = 8, least_leaf = 2 * unit;
  std::int64_t units_, panels_, most_sum_rows_, leaves_ = 1;
};

}  // namespace sweetspot::engine::cpu
