#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::memory {

// The memory of a batch, if the workload can predict it.
using Predict = std::function<std::optional<core::Bytes>(std::int64_t batch)>;

// The memory of a batch: the workload's own prediction, else a distribution fitted to the trials.
// Bytes are fixed + growth·batch^p plus an error per trial, which is never zero: allocators take
// memory in units and keep some. p is 1, unless the trials say otherwise. Batches that ran out of
// memory count with at least what they requested.
class MemoryFit {
 public:
  MemoryFit(std::span<const trial::Trial> trials, const Predict& predict);
  // Whether it takes no more than this with 95% probability, including later growth. True if
  // nothing is known.
  bool fits(std::int64_t batch, core::Bytes allowed) const;
  // Whether it takes more with 95% probability. False if nothing is known.
  bool lacks(std::int64_t batch, core::Bytes allowed) const;
  // The 95% upper bound of its memory; nullopt if nothing is known.
  std::optional<double> most_bytes(std::int64_t batch) const;
  // The expected memory, to be compared with the measured one. nullopt before two sizes were
  // measured.
  std::optional<double> expected_bytes(std::int64_t batch) const;
  // The 95% lower bound, if it is known well enough to reject a requested launch.
  std::optional<double> least_bytes(std::int64_t batch) const;
  // Whether the workload itself predicts it.
  bool predicted(std::int64_t batch) const { return predict_ && predict_(batch); }
  // Whether a program's GPU memory has stopped growing with its batch: its allocator has reached a
  // limit of its own, which no driver shows.
  bool levels_off() const;
  // Whether it is extrapolated from trials.
  bool guessed(std::int64_t batch) const { return !predicted(batch) && !measured_.empty(); }

 private:
  // Bytes by one p: Student's t around a mean that is linear in batch^p.
  struct Shape {
    double power = 1, weight = 0;
    double fixed = 0, growth = 0;  // growth: of the largest batch
    double degrees = 1, variance = 0;
    double fixed_variance = 0, growth_variance = 0, covariance = 0;  // by the variance
  };
  void fit(const std::map<std::int64_t, double>& points);
  // The probability that a batch takes no more.
  double below(const Shape& shape, std::int64_t batch, double bytes) const;
  double below(std::int64_t batch, double bytes) const;
  double quantile(std::int64_t batch, double share) const;
  double margin_share() const { return 1 + margin_share_; }

  const Predict& predict_;
  std::map<std::int64_t, double> measured_;  // the peak of each batch
  bool on_gpu_ = false;
  double margin_share_ = 0;  // share of the memory by which it may grow later
  double largest_ = 1;       // batch of the fit
  std::vector<Shape> shapes_;
};

// The memory of another setting, extrapolated from the trials that differ from it only in batch and
// accumulation: by micro-batch. `least`: a lower bound.
struct Expected {
  std::optional<core::Bytes> bytes, least;
};
Expected expected(std::span<const trial::Trial> trials, const trial::Setting& setting);

}  // namespace sweetspot::memory
