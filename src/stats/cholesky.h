#pragma once
#include <cstddef>
#include <vector>

namespace sweetspot::stats {

// The lower triangle L of a symmetric positive matrix A = L·Lᵀ. For the dozen points of a search:
// the textbook's loops.
class Cholesky {
 public:
  // `matrix` row by row, size × size; only its lower triangle is read.
  Cholesky(std::vector<double> matrix, std::size_t size);
  // L⁻¹·right: vectors so treated have the dot product rightᵀ·A⁻¹·right'.
  std::vector<double> whiten(std::vector<double> right) const;
  double half_log_determinant() const;

 private:
  std::vector<double> factor_;
  std::size_t size_;
};

}  // namespace sweetspot::stats
