#pragma once
#include <memory>

#include "engine/cpu/op.h"

// Random layers other than elementwise dropout, which is in elementwise.h.
namespace sweetspot::engine::cpu {

// Adds normal noise. `full`: the shape including dead positions, which indexes the random numbers.
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, std::uint32_t layer,
                                        const model::Shape& full, Tensor* in, Tensor* out);
// Dropout of whole channels.
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
