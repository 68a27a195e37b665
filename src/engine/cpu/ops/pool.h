#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Max or average pooling with any overlap and padding; an average counts real positions only, as
// Keras does. `full`: the input's extent before dead positions were dropped.
std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out);
std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
