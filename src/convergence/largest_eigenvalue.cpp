#include "convergence/largest_eigenvalue.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace sweetspot::convergence {
namespace {

using Vector = std::vector<double>;

double product_of(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Random signs are practically never orthogonal to an eigenvector.
Vector random_direction(std::size_t size) {
  const core::Random random(1000, core::Purpose::synthetic, 0);
  Vector direction(size);
  for (std::size_t i = 0; i < size; ++i)
    direction[i] = (random.uniform(i) < 0.5f ? -1 : 1) / std::sqrt(static_cast<double>(size));
  return direction;
}

class Iteration {
 public:
  Iteration(const Gradient& gradient, std::span<const float> at, const PowerIteration& options)
      : gradient_(gradient), at_(at), options_(options), direction_(random_direction(at.size())) {
    constexpr double share_of_weight = 1e-2, where_all_are_zero = 1e-3;
    double squares = 0;
    for (const float value : at) squares += static_cast<double>(value) * value;
    const double rms = std::sqrt(squares / static_cast<double>(at.size()));
    step_ = rms > 0 ? share_of_weight * rms : where_all_are_zero;
  }

  // Iterates H − shift·I, whose eigenvectors are H's; returns H's eigenvalue.
  bool run(double shift) {
    found_.converged = false;
    std::optional<double> before;
    for (int settled = 0; settled < 2 && found_.iterations < options_.most_iterations;) {
      std::optional<Vector> product = hessian_times_direction();
      if (!product) return false;
      ++found_.iterations;
      found_.eigenvalue = product_of(direction_, *product);
      const bool same = before && std::abs(found_.eigenvalue - *before) <=
                                      options_.tolerance * std::abs(found_.eigenvalue);
      settled = same ? settled + 1 : 0;
      before = found_.eigenvalue;
      for (std::size_t i = 0; i < product->size(); ++i) (*product)[i] -= shift * direction_[i];
      const double length = std::sqrt(product_of(*product, *product));
      found_.converged = settled >= 2 || length == 0;
      if (length == 0) return true;  // flat in every remaining direction
      for (double& value : *product) value /= length;
      direction_ = std::move(*product);
    }
    return true;
  }

  const Curvature& found() const { return found_; }
  void turn() { direction_ = random_direction(at_.size()); }

 private:
  std::optional<Vector> hessian_times_direction() const {
    const auto ahead = gradient_(moved(step_)), behind = gradient_(moved(-step_));
    if (!ahead || !behind) return std::nullopt;
    Vector product(at_.size());
    for (std::size_t i = 0; i < product.size(); ++i)
      product[i] = (static_cast<double>((*ahead)[i]) - (*behind)[i]) / (2 * step_);
    return product;
  }

  std::vector<float> moved(double by) const {
    std::vector<float> weights(at_.begin(), at_.end());
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(weights[i] + by * direction_[i]);
    return weights;
  }

  const Gradient& gradient_;
  std::span<const float> at_;
  PowerIteration options_;
  double step_ = 0;
  Vector direction_;
  Curvature found_;
};

}  // namespace

std::optional<Curvature> largest_eigenvalue(const Gradient& gradient, std::span<const float> at,
                                            const PowerIteration& options) {
  if (at.empty()) return std::nullopt;
  Iteration iteration(gradient, at, options);
  if (!iteration.run(0)) return std::nullopt;
  if (const double most_negative = iteration.found().eigenvalue; most_negative < 0) {
    iteration.turn();
    if (!iteration.run(most_negative)) return std::nullopt;
  }
  return iteration.found();
}

}  // namespace sweetspot::convergence
