#include "stats/step_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

using namespace experiment;

constexpr double any_speed = 30;              // deviation of the time per sample: any speed at all
constexpr double octaves_beyond_largest = 8;  // range of cliffs above the largest point

// Devices compute batches in multiples; most of them hide it.
struct Padding {
  std::int64_t multiple;
  double probability;
};
constexpr std::array paddings = {Padding{1, 0.7}, Padding{8, 0.1}, Padding{16, 0.1},
                                 Padding{32, 0.1}};
// Usually the fixed cost is added. A device that computes while the next step is prepared takes the
// longer of the two instead: flat up to some batch, then proportional.
constexpr double probability_of_overlap = 0.03;
// Fixed costs, in units of the time per sample: none, or 1/8 to 4096, this many per octave.
constexpr double least_fixed_octave = -3, most_fixed_octave = 12, fixed_per_octave = 3;

double octave(std::int64_t batch) { return std::log2(static_cast<double>(batch)); }

// Of what a curve strays from its line by, what it has in common with itself so far away.
double kept_over(double octaves) { return std::exp(-octaves / octaves_of_memory); }

// At most two cliffs, a bit each.
double cliff_variance(unsigned sides) {
  return square(cliff_deviation) * static_cast<double>((sides & 1) + (sides >> 1));
}

}  // namespace

StepModel::StepModel(StepTimes times) : times_(std::move(times)) {
  for (const std::int64_t batch : times_.batches) octaves_.push_back(octave(batch));
  std::vector<double> fixed = {0};
  for (double exponent = least_fixed_octave; exponent <= most_fixed_octave;
       exponent += 1 / fixed_per_octave)
    fixed.push_back(std::exp2(exponent));
  for (double samples : fixed)
    for (const Padding& padding : paddings)
      lines_.push_back({samples, padding.multiple, false,
                        std::log(padding.probability * (1 - probability_of_overlap))});
  for (double samples : fixed)
    lines_.push_back({samples, 1, true, std::log(probability_of_overlap)});
  for (std::size_t i = 0; i < size(); ++i)
    for (const Line& line : lines_)
      left_.push_back(times_.log_seconds[i] - line.log_work(times_.batches[i]));
  errors_ = Cholesky(times_.covariance, size());
  const auto log_prior = [&](std::size_t cliff) {
    return std::log(cliffs_per_octave * gap_octaves(cliff));
  };
  for (std::size_t roughness = 0; roughness < experiment::roughness.size(); ++roughness) {
    add_world({}, roughness, 0);
    for (std::size_t one = 0; one <= size(); ++one) {
      add_world({one}, roughness, log_prior(one));
      for (std::size_t two = 0; two < one; ++two)
        add_world({two, one}, roughness, log_prior(one) + log_prior(two));
    }
  }
  normalise();
}

double StepModel::Line::log_work(std::int64_t batch) const {
  const std::int64_t padded = (batch + padded_to - 1) / padded_to * padded_to;
  const auto work = static_cast<double>(padded);
  return std::log(overlaps ? std::max(fixed_samples, work) : fixed_samples + work);
}

// Between the points on both sides of a cliff.
double StepModel::gap_octaves(std::size_t cliff) const {
  if (cliff == size()) return octaves_beyond_largest;
  return octaves_[cliff] - (cliff == 0 ? 0 : octaves_[cliff - 1]);
}

double StepModel::smooth_covariance(double octaves, std::size_t roughness) const {
  return square(any_speed) + square(experiment::roughness[roughness]) * kept_over(octaves);
}

void StepModel::add_world(std::vector<std::size_t> cliffs, std::size_t roughness,
                          double log_prior) {
  if (!std::isfinite(log_prior)) return;  // there can be no cliff below batch 1
  World world;
  world.cliffs = std::move(cliffs);
  world.roughness = roughness;
  const std::size_t n = size();
  for (std::size_t i = 0; i < n; ++i) {
    Sides sides = 0;
    for (std::size_t k = 0; k < world.cliffs.size(); ++k)
      if (i >= world.cliffs[k]) sides |= 1u << k;
    world.sides.push_back(sides);
  }
  std::vector<double> matrix = times_.covariance;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      matrix[i * n + j] += smooth_covariance(octaves_[i] - octaves_[j], roughness) +
                           cliff_variance(world.sides[i] & world.sides[j]);
    matrix[i * n + i] += square(own_deviation);
  }
  world.covariance = Cholesky(std::move(matrix), n);
  // Each line's log likelihood.
  const double constant = log_prior - world.covariance.half_log_determinant();
  const std::size_t lines = lines_.size();
  const std::vector<double> whitened = world.covariance.whiten_columns(left_, lines);
  std::vector<double> squares(lines);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t line = 0; line < lines; ++line)
      squares[line] += square(whitened[i * lines + line]);
  for (std::size_t i = 0; i < lines; ++i)
    world.weights.push_back(constant + lines_[i].log_prior - squares[i] / 2);
  worlds_.push_back(std::move(world));
}

// From logarithms to probabilities.
void StepModel::normalise() {
  double best = -1e300, total = 0;
  for (const World& world : worlds_) best = std::max(best, std::ranges::max(world.weights));
  for (World& world : worlds_)
    for (double& weight : world.weights) total += weight = std::exp(weight - best);
  for (World& world : worlds_)
    for (double& weight : world.weights) weight /= total;
}

double drawn_normal(std::uint32_t curve, std::uint64_t index) {
  return core::Random(0, core::Purpose::curves, curve).normal(index);
}

// The same in every decision: made once for as many as most of them need.
double curve_normal(std::uint32_t curve, std::uint64_t index) {
  constexpr std::uint32_t curves = 500, per_curve = 128;
  static const std::vector<double> made = [] {
    std::vector<double> values;
    for (std::uint32_t i = 0; i < curves * per_curve; ++i)
      values.push_back(drawn_normal(i / per_curve, i % per_curve));
    return values;
  }();
  if (curve >= curves || index >= per_curve) return drawn_normal(curve, index);
  return made[curve * per_curve + index];
}

// One curve: all unknowns are drawn from the prior, together with measurement errors, and shifted
// by the difference to the real measurements (Matheron's rule).
class StepModel::Draw {
 public:
  Draw(const StepModel& model, std::span<const std::int64_t> batches)
      : model_(model), batches_(batches), log_work_(model.lines_.size()) {
    for (const std::int64_t batch : batches) octaves_.push_back(octave(batch));
    all_ = octaves_;
    all_.insert(all_.end(), model.octaves_.begin(), model.octaves_.end());
    std::ranges::sort(all_);
    all_.erase(std::ranges::unique(all_).begin(), all_.end());
    for (std::size_t i = 0; i < all_.size(); ++i)
      kept_.push_back(i == 0 ? 0 : kept_over(all_[i] - all_[i - 1]));
    const auto place = [&](double at) {
      return static_cast<std::size_t>(std::ranges::lower_bound(all_, at) - all_.begin());
    };
    for (const double at : model.octaves_) point_place_.push_back(place(at));
    for (std::size_t c = 0; c < batches.size(); ++c) {
      place_.push_back(place(octaves_[c]));
      const auto& points = model.times_.batches;
      point_.push_back(
          static_cast<std::size_t>(std::ranges::find(points, batches[c]) - points.begin()));
      logs_.push_back(std::log(static_cast<double>(batches[c])));
      for (const double point : model.octaves_)
        shared_.push_back(kept_over(std::abs(octaves_[c] - point)));
    }
  }

  std::vector<double> curve(const World& world, std::size_t line, std::uint32_t number) {
    number_ = number;
    next_ = 0;
    const std::size_t n = model_.size();
    draw_prior(world);
    std::vector<double> normals(n), own(n), left(n);
    for (double& each : normals) each = normal();
    const std::vector<double> errors = model_.errors_.colour(normals);
    for (std::size_t i = 0; i < n; ++i) {
      own[i] = own_deviation * normal();
      left[i] = model_.left_[i * model_.lines_.size() + line] -
                prior(model_.octaves_[i], point_place_[i]) - own[i] - errors[i];
    }
    const std::vector<double> pull = world.covariance.solve(std::move(left));
    const double roughness = square(experiment::roughness[world.roughness]);
    // What all batches get, and those beyond each cliff.
    const double to_all = square(any_speed) * std::accumulate(pull.begin(), pull.end(), 0.0);
    std::vector<double> beyond(cliffs_.size());
    for (std::size_t k = 0; k < cliffs_.size(); ++k)
      for (std::size_t i = world.cliffs[k]; i < n; ++i)
        beyond[k] += square(cliff_deviation) * pull[i];
    std::vector<double> curve;
    curve.reserve(batches_.size());
    const std::vector<double>& work = log_work(line);
    for (std::size_t c = 0; c < batches_.size(); ++c) {
      double log_seconds = work[c] + prior(octaves_[c], place_[c]) + to_all;
      for (std::size_t k = 0; k < cliffs_.size(); ++k)
        if (octaves_[c] >= cliffs_[k].at_octave) log_seconds += beyond[k];
      const double* shared = &shared_[c * n];
      double smooth = 0;
      for (std::size_t i = 0; i < n; ++i) smooth += pull[i] * shared[i];
      log_seconds += roughness * smooth;
      if (const std::size_t i = point_[c]; i < n)
        log_seconds += pull[i] * square(own_deviation) + own[i];
      curve.push_back(logs_[c] - log_seconds);
    }
    return curve;
  }

 private:
  // Of each batch; many curves have the same line.
  const std::vector<double>& log_work(std::size_t line) {
    std::vector<double>& work = log_work_[line];
    if (work.empty())
      for (const std::int64_t batch : batches_) work.push_back(model_.lines_[line].log_work(batch));
    return work;
  }
  double normal() { return curve_normal(number_, next_++); }

  void draw_prior(const World& world) {
    speed_ = any_speed * normal();
    cliffs_.clear();
    for (const std::size_t cliff : world.cliffs) {
      const double from = cliff == 0 ? 0 : model_.octaves_[cliff - 1];
      const core::Random random(0, core::Purpose::curves, number_);
      const double share = 1 - static_cast<double>(random.uniform(next_++));  // never 0
      cliffs_.push_back({from + share * model_.gap_octaves(cliff), cliff_deviation * normal()});
    }
    // The process is Markov: each value depends only on the previous one.
    smooth_.clear();
    const double deviation = experiment::roughness[world.roughness];
    for (std::size_t i = 0; i < all_.size(); ++i) {
      smooth_.push_back((i == 0 ? 0 : kept_[i] * smooth_.back()) +
                        std::sqrt(1 - square(kept_[i])) * deviation * normal());
    }
  }

  struct Cliff {
    double at_octave, height;
  };
  // At one of all octaves, by its place among them.
  double prior(double at, std::size_t place) const {
    double value = speed_ + smooth_[place];
    for (const Cliff& cliff : cliffs_)
      if (at >= cliff.at_octave) value += cliff.height;
    return value;
  }

  const StepModel& model_;
  std::span<const std::int64_t> batches_;
  std::vector<double> octaves_, all_;  // of the batches; of these and of the points
  std::vector<double> kept_, shared_;  // from one of all to the next; by each batch and each point
  std::vector<double> logs_;           // of the batches
  std::vector<std::vector<double>> log_work_;     // by line, of each batch
  std::vector<std::size_t> place_, point_place_;  // of batches and of points, among all
  std::vector<std::size_t> point_;                // of each batch, if it is one
  std::uint32_t number_ = 0;                      // of the curve
  std::uint64_t next_ = 0;                        // of its random numbers
  double speed_ = 0;
  std::vector<Cliff> cliffs_;
  std::vector<double> smooth_;
};

std::vector<std::vector<double>> StepModel::curves(std::span<const std::int64_t> batches,
                                                   int count) const {
  Draw draw(*this, batches);
  std::vector<std::vector<double>> all;
  // Hypotheses in proportion to their probabilities, by systematic (evenly spaced) sampling.
  double passed = 0;
  for (const World& world : worlds_)
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      passed += world.weights[i];
      while (std::ssize(all) < count &&
             (static_cast<double>(all.size()) + 0.5) / count < passed + 1e-9)
        all.push_back(draw.curve(world, i, static_cast<std::uint32_t>(all.size())));
    }
  return all;
}

}  // namespace sweetspot::stats
