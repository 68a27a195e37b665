#include "engine/cpu/weights.h"

#include <algorithm>
#include <utility>

#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {

std::int64_t PackedVariable::index(std::int64_t i) const {
  if (!matrix) return place[static_cast<std::size_t>(i)];
  std::int64_t n, row;
  if (turned > 0) {
    const std::int64_t in = parameter.shape.back(), taps = parameter.size() / (in * turned);
    n = i / in % turned, row = (taps - 1 - i / (in * turned)) * in + i % in;
  } else {
    n = i % parameter.shape.back(), row = i / parameter.shape.back();
  }
  const std::int64_t k = place[static_cast<std::size_t>(row)];
  const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
  return first * rows + k * width + (n - first);
}

std::size_t WeightLayout::add_matrix(const model::Parameter& parameter, std::int64_t rows,
                                     std::vector<std::int32_t> place, std::int64_t turned) {
  const std::int64_t columns = turned > 0 ? turned : parameter.shape.back();
  variables_.push_back(
      {parameter, 0, rows, round_up(columns, unit), true, std::move(place), turned});
  return variables_.size() - 1;
}

std::size_t WeightLayout::add_vector(const model::Parameter& parameter, std::int64_t floats,
                                     std::vector<std::int32_t> place) {
  variables_.push_back({parameter, 0, floats, 1, false, std::move(place), 0});
  return variables_.size() - 1;
}

void WeightLayout::lay_out() {
  total_ = 0;
  for (const bool trainable : {true, false}) {
    for (PackedVariable& variable : variables_)
      if (variable.parameter.trainable == trainable) {
        variable.offset = total_;
        total_ += round_up(variable.floats(), unit);
      }
    if (trainable) trainable_ = total_;
  }
}

void pack(const PackedVariable& variable, std::span<const float> keras, float* buffer) {
  for (std::size_t i = 0; i < keras.size(); ++i)
    buffer[variable.offset + variable.index(static_cast<std::int64_t>(i))] = keras[i];
}

std::vector<float> unpack(const PackedVariable& variable, const float* buffer) {
  std::vector<float> keras(static_cast<std::size_t>(variable.parameter.size()));
  for (std::size_t i = 0; i < keras.size(); ++i)
    keras[i] = buffer[variable.offset + variable.index(static_cast<std::int64_t>(i))];
  return keras;
}

}  // namespace sweetspot::engine::cpu
