#pragma once
#include <cstddef>
#include <vector>

namespace sweetspot::stats {

// The lower triangle L of a symmetric positive matrix A = L·Lᵀ. For the dozen points of a search:
// textbook loops. A matrix that is not quite positive, as an estimated covariance may be by
// rounding, is replaced by a near one that is: a pivot is at least 10⁻¹² of its diagonal.
class Cholesky {
 public:
  // `matrix` row by row, size × size; only its lower triangle is read.
  Cholesky(std::vector<double> matrix, std::size_t size);
  // L⁻¹·right, of a matrix row by row: columns whitened this way have the dot product
  // rightᵀ·A⁻¹·right'.
  std::vector<double> whiten_columns(std::vector<double> right, std::size_t columns) const;
  // A⁻¹·right.
  std::vector<double> solve(std::vector<double> right) const;
  // L·normals: with independent standard normals, a draw of covariance A.
  std::vector<double> colour(const std::vector<double>& normals) const;
  double half_log_determinant() const;

 private:
  std::vector<double> factor_;
  std::size_t size_;
};

}  // namespace sweetspot::stats
