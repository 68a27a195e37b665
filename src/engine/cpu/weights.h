#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// One variable inside the flat weight buffer. A matrix of (rows, columns) is stored in panels of up
// to 64 columns; a vector is stored in the order of its feature map. Padding is zero and stays
// zero.
struct PackedVariable {
  model::Parameter parameter;
  std::int64_t offset = 0;   // floats into the buffer
  std::int64_t rows = 1;     // of the packed matrix
  std::int64_t columns = 1;  // padded to a unit
  bool matrix = false;
  std::vector<std::int32_t>
      place;  // Keras row (matrix) or feature (vector) → packed row or feature
  // Not 0: Keras has (taps, this many columns, in) for a flipped kernel.
  std::int64_t turned = 0;

  std::int64_t floats() const { return matrix ? rows * columns : rows; }
  // The index of element i of Keras' layout, from the start of the variable.
  std::int64_t index(std::int64_t i) const;
};

// The flat buffer: trainable variables first, so that the optimizer is one pass over its front.
class WeightLayout {
 public:
  // Returns the variable's index. Trainable ones must be added before running statistics.
  std::size_t add_matrix(const model::Parameter&, std::int64_t rows,
                         std::vector<std::int32_t> place, std::int64_t turned = 0);
  std::size_t add_vector(const model::Parameter&, std::int64_t floats,
                         std::vector<std::int32_t> place);
  void lay_out();

  const std::vector<PackedVariable>& variables() const { return variables_; }
  std::int64_t trainable_floats() const { return trainable_; }
  std::int64_t floats() const { return total_; }

 private:
  std::vector<PackedVariable> variables_;
  std::int64_t trainable_ = 0, total_ = 0;
};

void pack(const PackedVariable& variable, std::span<const float> keras, float* buffer);
std::vector<float> unpack(const PackedVariable& variable, const float* buffer);

}  // namespace sweetspot::engine::cpu
