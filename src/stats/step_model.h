#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/cholesky.h"
#include "stats/interval.h"
#include "stats/possibility.h"

namespace sweetspot::stats {

// The step time measured at one batch.
struct StepPoint {
  std::int64_t batch = 1;
  double seconds = 1;
  double deviation_share = 0.01;  // one standard deviation of `seconds`, as a share of it
};

// Step time as a function of batch: seconds(b) = (fixed + per_sample·b)·cliffs(b)·e^g(log₂ b).
//
// The straight line is most of it. A cliff multiplies the time from some batch on: a cache
// outgrown, another algorithm. g is what else there is, a Gaussian process whose covariance falls
// with the distance in octaves. Nothing of this is assumed to be there: every fixed cost, padding
// to a multiple, roughness of g and place of up to two cliffs is a hypothesis, weighed by how well
// it predicts the measurements, and a forecast is the mixture of what they say. So a measured batch
// decides for itself, two that lie on a line vouch for those between them, and two that do not make
// a cliff between them likely, with all that this leaves open.
class StepModel {
 public:
  // Ascending by batch, each at most once, at least one; seconds and deviations above zero.
  explicit StepModel(std::span<const StepPoint> points);

  // The mean line. Its fixed cost is a guess until two batches or more are known.
  double fixed_seconds() const { return fixed_seconds_; }
  double per_sample_seconds() const { return per_sample_seconds_; }

  // log(samples per second) at a batch, measured or not.
  std::vector<Possibility> throughput(std::int64_t batch) const;
  // log(throughput at `batch` / throughput at `reference`), a measured one: what is unknown of both
  // cancels.
  std::vector<Possibility> ratio(std::int64_t batch, std::int64_t reference) const;
  // Samples per second with the interval in which the true value lies, at 95%.
  Interval throughput_interval(std::int64_t batch) const;

 private:
  // fixed + per-sample cost, in samples' worth of time, of batches padded to a multiple.
  struct Line {
    double fixed_samples = 0;
    std::int64_t padded_to = 1;
    double log_prior = 0;
    double log_work(std::int64_t batch) const;
  };
  // A line in a world, its probability, and what it leaves of the measurements.
  struct Hypothesis {
    std::size_t line = 0;
    double weight = 0;
    std::vector<double> whitened;
  };
  // The sides of a world's cliffs on which a batch is: a bit is set behind the cliff.
  using Sides = unsigned;
  // Cliffs, each named by the first point behind it, and a roughness: they decide the covariances.
  struct World {
    std::vector<std::size_t> cliffs;
    std::size_t roughness = 0;
    std::vector<Sides> sides;  // of each point
    Cholesky covariance{{}, 0};
    std::vector<Hypothesis> hypotheses;
  };
  struct Where {
    double probability = 1;
    Sides sides = 0;
  };

  double gap_octaves(std::size_t cliff) const;
  void add_world(std::vector<std::size_t> cliffs, std::size_t roughness, double log_prior);
  void weigh(World& world, double log_prior);
  void normalise();
  void find_mean_line();
  // Covariance with each point, cliffs apart.
  std::vector<double> smooth_covariance(std::int64_t batch, std::size_t roughness) const;
  std::vector<Where> places(const World& world, std::int64_t batch) const;
  std::vector<Possibility> forecast(std::int64_t batch,
                                    std::optional<std::int64_t> reference) const;

  std::vector<StepPoint> points_;
  std::vector<Line> lines_;
  std::vector<std::vector<double>> left_;  // by line: log(seconds / work) at each point
  std::vector<World> worlds_;
  double fixed_seconds_ = 0, per_sample_seconds_ = 0;
};

}  // namespace sweetspot::stats
