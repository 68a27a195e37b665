#include "stats/cholesky.h"

#include <cmath>

namespace sweetspot::stats {

Cholesky::Cholesky(std::vector<double> matrix, std::size_t size)
    : factor_(std::move(matrix)), size_(size) {
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = factor_[i * size_ + j];
      for (std::size_t k = 0; k < j; ++k) sum -= factor_[i * size_ + k] * factor_[j * size_ + k];
      factor_[i * size_ + j] = i == j ? std::sqrt(sum) : sum / factor_[j * size_ + j];
    }
}

std::vector<double> Cholesky::whiten(std::vector<double> right) const {
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= factor_[i * size_ + k] * right[k];
    right[i] /= factor_[i * size_ + i];
  }
  return right;
}

double Cholesky::half_log_determinant() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += std::log(factor_[i * size_ + i]);
  return sum;
}

}  // namespace sweetspot::stats
