#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "stats/cholesky.h"

namespace sweetspot::stats {

// Step times that were measured: what was measured together has errors in common.
struct StepTimes {
  std::vector<std::int64_t> batches;  // ascending, each once
  std::vector<double> log_seconds;
  std::vector<double> covariance;  // of the errors of log_seconds, row by row
};

// Step time as a function of batch: seconds(b) = (fixed + per_sample·b)·cliffs(b)·e^g(log₂ b).
//
// The straight line is most of it, or the longer of its two parts where they overlap. A cliff
// multiplies the time from some batch on: a cache outgrown, another algorithm. g is what else there
// is, a Gaussian process whose covariance falls with the distance in octaves. Nothing of this is
// assumed to be there: every fixed cost, overlap, padding to a multiple, roughness of g and place
// of up to two cliffs is a hypothesis, weighed by how well it predicts the measurements. So a
// measured batch decides for itself, two that lie on a line vouch for those between them, and two
// that do not make a cliff between them likely, with all that this leaves open.
class StepModel {
 public:
  explicit StepModel(StepTimes times);  // of one batch at least

  // Whole curves as they may be, drawn from what the measurements leave open: log(samples per
  // second) at each of these batches (ascending). The same draws for the same measurements.
  std::vector<std::vector<double>> curves(std::span<const std::int64_t> batches, int count) const;

 private:
  // fixed + per-sample cost, in samples' worth of time, of batches padded to a multiple.
  struct Line {
    double fixed_samples = 0;
    std::int64_t padded_to = 1;
    bool overlaps = false;  // the longer of the two costs counts, not their sum
    double log_prior = 0;
    double log_work(std::int64_t batch) const;
  };
  // The sides of a world's cliffs on which a batch is: a bit is set behind the cliff.
  using Sides = unsigned;
  // Cliffs, each named by the first point behind it, and a roughness: they decide the covariances.
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
  std::vector<std::vector<double>> left_;  // by line: log(seconds / work) at each point
  Cholesky errors_{{}, 0};
  std::vector<World> worlds_;
};

}  // namespace sweetspot::stats
