#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/interval.h"

namespace sweetspot::convergence {

// What a training run needs to reach a target, by its batch B (McCandlish et al. 2018, arXiv
// 1812.06162): S = S_min (1 + B_crit/B) updates, and so E = E_min (1 + B/B_crit) samples, with
// E_min = B_crit S_min. Up to the critical batch a sample is worth about as much as in a small one.
struct BatchTradeOff {
  double least_samples = 1, critical_batch = 1;
  double samples(double batch) const { return least_samples * (1 + batch / critical_batch); }
  double updates(double batch) const { return samples(batch) / batch; }
};

// The noise scale of the gradient after this many updates of a run.
struct NoiseAt {
  std::int64_t updates = 0;
  double noise_scale = 0;
};
// The critical batch of a whole run at this batch. An update with noise scale N makes the progress
// of 1/(1 + N/B) noise-free updates, which would have needed N times as many samples: summed over
// the run, that is E_min/S_min. nullopt without points.
std::optional<double> critical_batch_by_noise(std::span<const NoiseAt> run, double batch);

// A run that reached the target.
struct TargetRun {
  std::int64_t batch = 1;
  double samples = 0;
};
// The prior of the critical batch before two batches were compared, as a factor either way (one
// standard deviation).
struct CriticalBatchGuess {
  double batch = 1000;
  double factor = 8;
  bool adaptive_optimizer = false;  // Adam and the like: samples may rise more slowly
};

// The prior if the noise scale of the gradients gave a critical batch. The law is about optimizers
// that follow the gradient itself. Adam follows a normalised one, whose noise scale is another (a
// tenth of what runs show for the paper's network), so there that counts as much as no knowledge.
CriticalBatchGuess guess_by_noise(double noise_batch, bool adaptive_optimizer);

// Samples to the target at any batch, by the trade-off above; for adaptive optimizers with an
// exponent, E = E_min (1 + (B/B_crit)^a): with Adam, at learning rates that follow the square root
// of the batch, they rise with a of about 2/3, so several are considered. Critical batch and
// exponent are weighted by the prior and by how well they explain the runs, which deviate from the
// law by more than their seeds do.
class SamplesToTarget {
 public:
  SamplesToTarget(std::span<const TargetRun> runs, const CriticalBatchGuess& guess);

  // With the 95% interval of a single run. Without any run the distance to the target is unknown:
  // then the unit is E_min, and only comparisons between batches are meaningful.
  stats::Interval at(double batch) const;
  stats::Interval critical_batch() const;

 private:
  struct Hypothesis {
    double exponent = 1, log_critical = 0, log_least = 0, weight = 0;
  };
  static double log_factor(double batch, const Hypothesis& by);  // of E/E_min

  std::vector<Hypothesis> hypotheses_;
  double least_variance_ = 0;  // of log_least, within a hypothesis
};

}  // namespace sweetspot::convergence
