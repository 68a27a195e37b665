#include "convergence/largest_eigenvalue.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::convergence {
namespace {

// The gradient of ½ xᵀ Q diag(eigenvalues) Qᵀ x with Q = I − 2uuᵀ, a reflection.
Gradient quadratic(std::vector<double> eigenvalues) {
  return [eigenvalues](std::span<const float> at) -> std::optional<std::vector<float>> {
    const std::size_t n = eigenvalues.size();
    const double u = 1 / std::sqrt(static_cast<double>(n));
    const auto reflect = [&](std::vector<double> x) {
      double along = 0;
      for (const double value : x) along += value * u;
      for (double& value : x) value -= 2 * along * u;
      return x;
    };
    std::vector<double> x = reflect({at.begin(), at.end()});
    for (std::size_t i = 0; i < n; ++i) x[i] *= eigenvalues[i];
    x = reflect(x);
    return std::vector<float>(x.begin(), x.end());
  };
}

TEST(LargestEigenvalue, IsThatOfAQuadratic) {
  std::vector<double> eigenvalues;
  for (int i = 0; i < 40; ++i) eigenvalues.push_back(0.1 * i);
  eigenvalues[7] = 6.5;
  const std::vector<float> at(40, 0.3f);
  const auto found = largest_eigenvalue(quadratic(eigenvalues), at);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->converged);
  EXPECT_NEAR(found->eigenvalue, 6.5, 0.05 * 6.5);
}

TEST(LargestEigenvalue, IsNotTheMostNegativeOne) {
  const std::vector<float> at(4, 1.f);
  const auto found = largest_eigenvalue(quadratic({-20, 0.5, 3, 1}), at);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->eigenvalue, 3, 0.05 * 3);
}

TEST(LargestEigenvalue, IsNoneOfAPlaneAndCanBeGivenUp) {
  const std::vector<float> zero(5, 0.f);
  const auto flat = largest_eigenvalue(quadratic({0, 0, 0, 0, 0}), zero);
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->eigenvalue, 0);
  int calls = 0;
  const Gradient gives_up = [&](std::span<const float> at) -> std::optional<std::vector<float>> {
    if (++calls > 3) return std::nullopt;
    return std::vector<float>(at.begin(), at.end());
  };
  EXPECT_FALSE(largest_eigenvalue(gives_up, std::vector<float>(5, 1.f)));
  EXPECT_FALSE(largest_eigenvalue(gives_up, {}));
}

}  // namespace
}  // namespace sweetspot::convergence
