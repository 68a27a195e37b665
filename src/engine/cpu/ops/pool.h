#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Max or average pooling with any overlap and padding; an average counts only real positions, as in
// Keras. `full`: the input's extent including dead positions.
std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out);
std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
