#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sweetspot::stats {

// Log seconds of a weight update, by the round in which it was measured.
using RoundTimes = std::map<std::int32_t, double>;

// Things that were measured together, in rounds. Not all of them were in every round, so what a
// round did to all that was in it is taken off first, as far as it can be told from chance (a
// two-way layout by medians, the rounds' effects shrunk by their reliability). Each then has an
// estimate, a mean over the calmer of its rounds. A machine's disturbances fall
// on neighbouring rounds, so the errors of the estimates are found by resampling whole rounds,
// neighbouring ones together (a moving-block bootstrap): what disturbed all alike cancels in a
// ratio.
class RoundTable {
 public:
  explicit RoundTable(const std::vector<RoundTimes>& columns);  // each with a round at least

  const std::vector<double>& estimates() const { return estimates_; }
  std::vector<double> covariance() const;  // of their errors, row by row

 private:
  // Of a thing, in the order of its values.
  struct Entry {
    double value = 0;
    std::size_t round = 0;
  };
  using Column = std::vector<Entry>;

  // Things that were in rounds together, or each with another of them: what a round did is known
  // relative to their other rounds only.
  struct Group {
    Column blocks;     // of shared rounds, relative to their thing's estimate
    double level = 0;  // of the calm ones
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
