#include "stats/cholesky.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::stats {

Cholesky::Cholesky(std::vector<double> matrix, std::size_t size)
    : factor_(std::move(matrix)), size_(size) {
  constexpr double least_pivot_share = 1e-12, least_pivot = 1e-300;
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double entry = factor_[i * size_ + j];
      double sum = entry;
      for (std::size_t k = 0; k < j; ++k) sum -= factor_[i * size_ + k] * factor_[j * size_ + k];
      factor_[i * size_ + j] =
          i == j ? std::sqrt(std::max({sum, least_pivot_share * entry, least_pivot}))
                 : sum / factor_[j * size_ + j];
    }
}

std::vector<double> Cholesky::whiten_columns(std::vector<double> right, std::size_t columns) const {
  for (std::size_t i = 0; i < size_; ++i) {
    double* const row = right.data() + i * columns;
    for (std::size_t k = 0; k < i; ++k) {
      const double factor = factor_[i * size_ + k];
      const double* const above = right.data() + k * columns;
      for (std::size_t c = 0; c < columns; ++c) row[c] -= factor * above[c];
    }
    const double pivot = factor_[i * size_ + i];
    for (std::size_t c = 0; c < columns; ++c) row[c] /= pivot;
  }
  return right;
}

std::vector<double> Cholesky::solve(std::vector<double> right) const {
  right = whiten_columns(std::move(right), 1);
  for (std::size_t i = size_; i-- > 0;) {
    for (std::size_t k = i + 1; k < size_; ++k) right[i] -= factor_[k * size_ + i] * right[k];
    right[i] /= factor_[i * size_ + i];
  }
  return right;
}

std::vector<double> Cholesky::colour(const std::vector<double>& normals) const {
  std::vector<double> drawn(size_);
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t k = 0; k <= i; ++k) drawn[i] += factor_[i * size_ + k] * normals[k];
  return drawn;
}

double Cholesky::half_log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += std::log(factor_[i * size_ + i]);
  return sum;
}

}  // namespace sweetspot::stats
