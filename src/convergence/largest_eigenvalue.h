#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sweetspot::convergence {

// The gradient of a twice differentiable function at some point; nullopt aborts.
using Gradient = std::function<std::optional<std::vector<float>>(std::span<const float> at)>;

struct Curvature {
  double eigenvalue = 0;
  int iterations = 0;      // of two gradients each
  bool converged = false;  // its last changes were within the tolerance
};

struct PowerIteration {
  int most_iterations = 50;
  double tolerance = 0.01;  // relative change that counts as none, twice in a row
};

// The largest eigenvalue of the Hessian there, the sharpness of a loss: power iteration on
// Hessian-vector products from central differences of the gradient. The step is 1% of a weight's
// root mean square, far above fp32 rounding and below where activations switch. If the eigenvalue
// of largest magnitude is negative, the spectrum is shifted by it and iterated again.
std::optional<Curvature> largest_eigenvalue(const Gradient& gradient, std::span<const float> at,
                                            const PowerIteration& options = {});

}  // namespace sweetspot::convergence
