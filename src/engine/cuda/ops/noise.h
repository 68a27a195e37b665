#pragma once
#include <memory>

#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"

namespace sweetspot::engine::cuda {

// Normal noise, with the random numbers of a dropout of rate 0.
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, const FusedDropout& draws,
                                        Tensor* in, Tensor* out);
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
