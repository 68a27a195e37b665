#pragma once
#include <memory>
#include <optional>

#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"
#include "model/network.h"

// Layers that run in a separate pass.
namespace sweetspot::engine::cuda {

std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out);
Function function_of(model::Activation activation);
std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out);
std::unique_ptr<Op> make_dropout(std::string name, const FusedDropout& dropout, Tensor* in,
                                 Tensor* out);
// `full` is the input's whole shape, which decides the padding.
std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out);
std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
