#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "stats/cholesky.h"

namespace sweetspot::stats {

// Measured step times; those measured together have correlated errors.
struct StepTimes {
  std::vector<std::int64_t> batches;  // ascending, each once
  std::vector<double> log_seconds;
  std::vector<double> covariance;  // of the errors of log_seconds, row by row
};

// Step time as a function of batch: seconds(b) = (fixed + per_sample·b)·cliffs(b)·e^g(log₂ b).
//
// The straight line is most of it, or the longer of its two parts if they overlap. A cliff
// multiplies the time from some batch on: a cache outgrown, another algorithm. g is the residual, a
// Gaussian process whose covariance falls with the distance in octaves. None of this is assumed to
// be present: every fixed cost, overlap, padding to a multiple, roughness of g and position of up
// to two cliffs is a hypothesis, weighted by how well it predicts the measurements. So a measured
// batch is determined by its own data, two on a line support those between them, and two that are
// not make a cliff between them likely, with the corresponding uncertainty.
class StepModel {
 public:
  explicit StepModel(StepTimes times);  // of one batch at least

  // Whole curves drawn from the posterior: log(samples per second) at each of these batches
  // (ascending). The same draws for the same measurements.
  std::vector<std::vector<double>> curves(std::span<const std::int64_t> batches, int count) const;

 private:
  // fixed + per-sample cost, in units of the time per sample, of batches padded to a multiple.
  struct Line {
    double fixed_samples = 0;
    std::int64_t padded_to = 1;
    bool overlaps = false;  // the longer of the two costs counts, not their sum
    double log_prior = 0;
    double log_work(std::int64_t batch) const;
  };
  // On which side of each cliff a batch is: a bit is set beyond the cliff.
  using Sides = unsigned;
  // Cliffs, each named by the first point beyond it, and a roughness: they determine the
  // covariances.
  struct World {
    std::vector<std::size_t> cliffs;
    std::size_t roughness = 0;
    std::vector<Sides> sides;  // of each point
    Cholesky covariance{{}, 0};
    std::vector<double> weights;  // the probability of each line
  };
  class Draw;

  std::size_t size() const { return times_.batches.size(); }
  double gap_octaves(std::size_t cliff) const;
  double smooth_covariance(double octaves, std::size_t roughness) const;
  void add_world(std::vector<std::size_t> cliffs, std::size_t roughness, double log_prior);
  void normalise();

  StepTimes times_;
  std::vector<double> octaves_;  // of each point
  std::vector<Line> lines_;
  std::vector<double> left_;  // log(seconds / work) at each point of each line, point by point
  Cholesky errors_{{}, 0};
  std::vector<World> worlds_;
};

}  // namespace sweetspot::stats
