#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace sweetspot::stats {

// Mean and variance in one pass by Welford's recurrence: E[x²]−E[x]² would lose every digit for
// step times that differ in the sixth one.
class Moments {
 public:
  Moments() = default;
  explicit Moments(std::span<const double> values);
  void add(double value);
  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  std::optional<double> variance() const;  // of the sample (n−1); nullopt below two values
  std::optional<double> stddev() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

}  // namespace sweetspot::stats
