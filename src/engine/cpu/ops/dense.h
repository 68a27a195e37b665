#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

struct DenseGeometry {
  std::int64_t depth = 0;    // floats of an input row
  std::int64_t columns = 0;  // of an output row, padded
  std::int64_t outputs = 0;  // of them that are not padding
  std::int64_t rows = 1;     // of a sample
  bool relu = false;
  bool bf16 = false;        // products of rounded operands, where they pay
  bool tiles = false;       // these on tiles
  std::size_t weights = 0;  // offsets into the weight buffer, in floats
  std::optional<std::size_t> bias;
  bool wants_input_gradient = true;  // in training, if a layer with weights comes before
};

// Whether its input should be rounded, if the operation before it can do that.
bool reads_rounded_rows(const DenseGeometry& geometry, std::int64_t micro_batch);
std::unique_ptr<Op> make_dense(std::string name, const DenseGeometry& geometry,
                               std::int64_t micro_batch, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
