#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "search/evidence.h"
#include "search/range.h"
#include "stats/step_model.h"

namespace sweetspot::search {

// The first of these speeds, by ascending batch, that is within the tolerance of the largest: what
// a knee is, wherever one is looked for. At least one speed.
std::size_t knee(std::span<const double> samples_per_second, double tolerance);

// Sizes and what answering each of them would cost, over joint curves through all measurements. On
// a curve, an answer loses what it is slower than the best beyond the tolerance, and a little for
// every doubling beyond the curve's own knee. The best of a curve is that of the measured sizes:
// the largest of many guesses would always be too large. Where energy is asked for, an answer loses
// what it takes more than the least of what is within the tolerance.
class Losses {
 public:
  // Sizes ascending: those that may be the answer, and which of them were measured.
  Losses(const stats::StepModel& model, std::vector<std::int64_t> sizes, const Evidence& evidence,
         const Limits& limits);

  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  double expected(std::size_t size) const;
  // Answers whose expected losses differ by less are equal: no finer answer is given than the
  // measurements resolve.
  double equal_loss() const { return equal_loss_; }
  // What answering the one rather than the other would save, where it saves at all: how much it is
  // worth to know more of it. Of what would not be preferred among equals, only what it saves
  // beyond.
  double gain(std::size_t other, std::size_t answer) const;
  // How much more the answer would lose if this size turned out to be faster than the best.
  double surprise(std::size_t other, std::size_t answer) const;
  // The expected loss of an answer beyond that of the best answer to each curve.
  double regret(std::size_t answer) const;
  // Of a size over all curves.
  BatchSpeed speed(std::size_t size) const;
  // The share of the curves on which a size is within the tolerance of the best.
  double within_tolerance(std::size_t size) const;
  // The share of the curves on which a measured size is the best.
  double is_fastest(std::size_t size) const;
  // The knee lies between them in 95% of the curves.
  std::pair<double, double> knee_bounds() const;

 private:
  struct Curve {
    std::vector<double> log_speeds, losses;
    std::vector<double> log_joules;  // of a sample; empty where no energy was read
    double best = 0, knee = 0;       // its largest log speed; in samples, between two sizes
  };
  void add_energy_losses(Curve& curve, const Evidence& evidence) const;

  std::vector<std::int64_t> sizes_;
  double tolerance_;
  double equal_loss_;
  std::vector<Curve> curves_;
};

// Losses of all that may be the answer: the candidates of the range up to the largest batch that
// was measured.
Losses losses(const stats::StepModel& model, const Evidence& evidence, const Range& range,
              const Limits& limits);

// The measured size of the range with the least expected loss; among equals the previous answer,
// else a power of two, the smallest that is within the tolerance first, else the smaller. An index
// of the sizes.
std::size_t best_answer(const Losses& losses, const Evidence& evidence, const Range& range,
                        const Limits& limits);

// Sizes on which the answer turns: whether they are within the tolerance is open, and they would be
// the answer, or would not, if it were not.
std::vector<std::size_t> open_questions(const Losses& losses, std::size_t answer,
                                        const Evidence& evidence);

// With the answer of this index.
Decision decision_of(const Losses& losses, std::size_t answer, const Evidence& evidence);

}  // namespace sweetspot::search
