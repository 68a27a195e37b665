#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "search/evidence.h"
#include "search/range.h"
#include "stats/step_model.h"

namespace sweetspot::search {

// The first of these speeds, by ascending batch, that is within the tolerance of the largest: the
// definition of a knee. At least one speed.
std::size_t knee(std::span<const double> samples_per_second, double tolerance);

// Sizes and the expected loss of answering each of them, over joint curves through all
// measurements. On a curve, an answer loses how much slower it is than the best beyond the
// tolerance, and a little for every doubling beyond the curve's own knee. The best of a curve is
// that of the measured sizes: the maximum of many guesses would always be too large. For energy, an
// answer loses how much more it takes than the least of those within the tolerance.
class Losses {
 public:
  // Sizes ascending: those that may be the answer, and which of them were measured.
  Losses(const stats::StepModel& model, std::vector<std::int64_t> sizes, const Evidence& evidence,
         const Limits& limits);

  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  double expected(std::size_t size) const;
  // Answers whose expected losses differ by less are equal: the answer is no finer than the
  // measurements resolve.
  double equal_loss() const { return equal_loss_; }
  // What answering `other` instead of `answer` would save on the curves where it saves anything:
  // the value of knowing more about it. If it would not be preferred among equals, only the excess
  // counts.
  double gain(std::size_t other, std::size_t answer) const;
  // How much more the answer would lose if this size turned out to be faster than the best.
  double surprise(std::size_t other, std::size_t answer) const;
  // The expected loss of an answer minus that of the best answer on each curve.
  double regret(std::size_t answer) const;
  // Of one size over all curves.
  BatchSpeed speed(std::size_t size) const;
  // The share of the curves on which a size is within the tolerance of the best.
  double within_tolerance(std::size_t size) const;
  // The share of the curves on which a measured size is the best.
  double is_fastest(std::size_t size) const;
  // The narrowest interval, in octaves, with 95% of the curves' knees.
  std::pair<double, double> knee_bounds() const;

 private:
  struct Curve {
    std::vector<double> log_speeds, losses;
    std::vector<double> log_joules;  // per sample; empty if no energy was read
    double best = 0, knee = 0;       // its largest log speed; its knee in samples, interpolated
  };
  void add_energy_losses(Curve& curve, const Evidence& evidence) const;
  template <class Value>
  double mean(const Value& value) const {
    double sum = 0;
    for (const Curve& curve : curves_) sum += value(curve);
    return sum / static_cast<double>(curves_.size());
  }

  std::vector<std::int64_t> sizes_;
  double tolerance_;
  double equal_loss_;
  std::vector<Curve> curves_;
};

// Losses of all possible answers: the candidates of the range up to the largest measured batch.
Losses losses(const stats::StepModel& model, const Evidence& evidence, const Range& range,
              const Limits& limits);

// The measured size of the range with the smallest expected loss; among equals the previous answer,
// else a power of two (the smallest within the tolerance first), else the smaller. An index into
// the sizes. `promised`: the speed that a larger batch, not measured, can be expected to have.
std::size_t best_answer(const Losses& losses, const Evidence& evidence, const Range& range,
                        const Limits& limits, double promised);

// Sizes that decide the answer: whether they are within the tolerance is open, and the answer would
// change with it.
std::vector<std::size_t> open_questions(const Losses& losses, std::size_t answer,
                                        const Evidence& evidence);

// With the answer of this index.
Decision decision_of(const Losses& losses, std::size_t answer, const Evidence& evidence);

}  // namespace sweetspot::search
