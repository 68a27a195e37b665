#pragma once
#include <cmath>
#include <vector>

#include "engine/golden.h"

// What the tests of several ranks have in common, on CPUs and on GPUs.
namespace sweetspot::engine::testing {

// A rank's part of a batch.
inline BatchView part_of(BatchView view, const model::Network& network, int rank, int ranks) {
  const std::int64_t begin = view.count * rank / ranks, end = view.count * (rank + 1) / ranks;
  view.whole = view.count, view.first = begin, view.count = end - begin;
  view.inputs += begin * network.input.size();
  if (view.labels) view.labels += begin;
  if (view.targets) view.targets += begin * network.output().size();
  return view;
}
inline BatchView part_of(const GoldenBatch& batch, const model::Network& network, int rank,
                         int ranks) {
  return part_of(batch.view(), network, rank, ranks);
}

inline std::vector<float> trainable(const Trainer& trainer) {
  std::vector<float> all;
  for (const Variable& variable : trainer.variables())
    if (variable.parameter.trainable)
      all.insert(all.end(), variable.values.begin(), variable.values.end());
  return all;
}

inline double distance_between(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(squares);
}

}  // namespace sweetspot::engine::testing
