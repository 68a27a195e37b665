#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

struct BatchNormGeometry {
  float momentum = 0.99f, epsilon = 1e-3f;
  bool per_position = false;  // a flattened input has statistics for each element
  bool relu = false;          // after the normalisation
  std::optional<std::size_t> gamma, beta;  // offsets into the weight buffer, in floats
  std::size_t moving_mean = 0, moving_variance = 0;
};

// Statistics are those of the micro-batch, so accumulation does not equal the whole batch here.
std::unique_ptr<Op> make_vector_norm(std::string name, const BatchNormGeometry& geometry,
                                     std::int64_t micro_batch, Tensor* in, Tensor* out);

// Batch normalisation of images is three operations, so that only the statistics interrupt a
// sample's path through the cache. `measure` ends a stage: each sample's moments, while its input
// is in cache. `combine` merges them into the micro-batch's. `normalise` begins the next stage. In
// the backward pass `normalise` sums each sample's gradients, `combine` adds them up, and `measure`
// passes them on. `measured` has the value of `in` and its own gradient.
struct ImageNorm {
  std::unique_ptr<Op> measure, combine, normalise;
};
ImageNorm make_image_norm(const std::string& name, const BatchNormGeometry& geometry, Tensor* in,
                          Tensor* measured, Tensor* out);

}  // namespace sweetspot::engine::cpu
