#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Whether a convolution in bf16, pooled or not, runs on tiles whose rows are samples: its images
// are so small that 16 of them stay in cache, and the micro-batch has enough samples.
bool runs_on_sample_tiles(const ConvGeometry& geometry, std::int64_t micro_batch);

// Convolution, optional ReLU and optional max pooling of 16 samples at a time.
std::unique_ptr<Op> make_conv_on_tiles(std::string name, const ConvGeometry& geometry, Tensor* in,
                                       Tensor* out);
std::string side_by_side_method(const ConvGeometry& geometry);
// The same over the batch itself.
std::unique_ptr<Op> make_first_conv_on_tiles(std::string name, const ConvGeometry& geometry,
                                             Tensor* out);

}  // namespace sweetspot::engine::cpu
