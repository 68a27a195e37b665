#pragma once
#include "engine/cpu/ops/conv.h"

namespace sweetspot::engine::cpu {

// A convolution with so few positions in the whole micro-batch that reading its large weights, not
// the arithmetic, sets the time. It runs as patches, a dense layer over all of them, and rows back
// into an image: the threads divide the weights instead of the samples, each weight is read once
// per pass, and its gradient is computed where it is applied.
bool runs_as_product(const ConvGeometry& geometry, std::int64_t micro_batch);

std::unique_ptr<Op> make_patches(std::string name, const ConvGeometry& geometry, Tensor* in,
                                 Tensor* out);
std::unique_ptr<Op> make_rows_to_image(std::string name, const Extent& image, Tensor* in,
                                       Tensor* out);

}  // namespace sweetspot::engine::cpu
