#pragma once
#include <optional>
#include <span>
#include <vector>

#include "engine/cuda/kernels/params.h"
#include "engine/extents.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

// Channels are padded to multiples of four, so that every load is 16 bytes wide, and beyond 16 to
// multiples of eight, 16 bytes of packed operands: 36 or 50 channels would go without those. The
// padding is zero and stays zero.
inline int padded(std::int64_t channels) {
  const std::int64_t unit = channels > 16 ? 8 : 4;
  return static_cast<int>((channels + unit - 1) / unit * unit);
}

// A variable in the flat weight buffer: a kernel is (rows, columns padded), where the rows are (tap
// or position, channels padded); a vector is one row. A layer's bias follows its kernel.
struct PlacedVariable {
  model::Parameter parameter;
  std::int64_t offset = 0, floats = 0;
  std::int64_t channels = 1, channel_pitch = 1;  // of the rows
  std::int64_t columns = 1, column_pitch = 1;
  // Kernels that a whole batch reads repeatedly, or that packed products read as they are, are also
  // cached as rounded operands: their offset.
  std::optional<std::int64_t> operands;

  std::int64_t turned_taps = 0;  // not 0: Keras has (taps, columns, channels), flipped

  std::int64_t index(std::int64_t keras) const {
    if (turned_taps > 0) {
      const std::int64_t tap = turned_taps - 1 - keras / (columns * channels);
      return offset + (tap * channel_pitch + keras % channels) * column_pitch +
             keras / channels % columns;
    }
    const std::int64_t row = keras / columns;
    return offset + (row / channels * channel_pitch + row % channels) * column_pitch +
           keras % columns;
  }
};

struct WeightLayout {
  std::vector<PlacedVariable> variables;  // in Keras' order
  std::int64_t floats = 0, trainable_floats = 0, operands = 0;

  const PlacedVariable* find(std::size_t layer, std::string_view variable) const;
};
WeightLayout weight_layout(const model::Network& network, const std::vector<Extent>& extents,
                           Math math);

// Whether this layer's convolution runs directly from the samples, without channel padding.
bool starts_from_samples(const model::Network& network, const std::vector<Extent>& extents);

}  // namespace sweetspot::engine::cuda
