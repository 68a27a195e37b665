#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sweetspot::stats {

// Log seconds of a weight update, by the round in which it was measured.
using RoundTimes = std::map<std::int32_t, double>;

// Columns that were measured together, in rounds. Not all of them were in every round, so the
// effect a round had on everything in it is subtracted first, as far as it is distinguishable from
// chance (a two-way layout by medians, the rounds' effects shrunk by their reliability). Each
// column then has an estimate, a mean over its less disturbed rounds. Disturbances affect
// neighbouring rounds, so the errors of the estimates come from a circular block bootstrap over
// rounds: what disturbed all columns alike cancels in a ratio.
class RoundTable {
 public:
  explicit RoundTable(const std::vector<RoundTimes>& columns);  // each with at least one round

  const std::vector<double>& estimates() const { return estimates_; }
  std::vector<double> covariance() const;  // of their errors, row by row

 private:
  // Of one column, in the order of its values.
  struct Entry {
    double value = 0;
    std::size_t round = 0;
  };
  using Column = std::vector<Entry>;

  // Columns that were in rounds together, directly or through others: the effect of a round is
  // known only relative to their other rounds.
  struct Group {
    Column blocks;     // of shared rounds, relative to their column's estimate
    double level = 0;  // of the undisturbed ones
  };

  std::vector<double> round_effects() const;
  void find_groups();
  static double of_few(std::size_t count);
  static double calm(const Column& column, const std::vector<int>& times_picked);
  std::vector<int> resampled(std::uint32_t number) const;
  struct Variances {
    double block = 0, drift = 0;
  };
  Variances variances() const;

  std::size_t rounds_ = 0;
  std::vector<Column> columns_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // each column
  std::vector<double> estimates_;
};

}  // namespace sweetspot::stats
