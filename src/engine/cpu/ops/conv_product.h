#pragma once
#include "engine/cpu/ops/conv.h"

namespace sweetspot::engine::cpu {

// A convolution of so few positions in the whole micro-batch that its large weights set the time,
// not the arithmetic. It runs as patches, a dense layer of all of them, and rows back into an
// image: the threads share the weights instead of the samples, each weight is read once a pass, and
// its gradient is made where it is applied.
bool runs_as_product(const ConvGeometry& geometry, std::int64_t micro_batch);

std::unique_ptr<Op> make_patches(std::string name, const ConvGeometry& geometry, Tensor* in,
                                 Tensor* out);
std::unique_ptr<Op> make_rows_to_image(std::string name, const Extent& image, Tensor* in,
                                       Tensor* out);

}  // namespace sweetspot::engine::cpu
