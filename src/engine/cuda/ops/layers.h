#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/kernels/layers.h"
#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"
#include "model/network.h"

// Layers that are no products, pooling or batch normalisation, in passes of their own.
namespace sweetspot::engine::cuda {

std::unique_ptr<Op> make_function(std::string name, const cpu::ElementFunction& function,
                                  Tensor* in, Tensor* out);
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);
// Normal noise, drawn as dropout of rate 0 would be.
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, const FusedDropout& draws,
                                        Tensor* in, Tensor* out);
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out);
std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in,
                                   Tensor* out);

struct LayerNormWeights {
  std::optional<std::int64_t> gamma, beta;
  std::int64_t floats = 0;  // of each, padding included
};
std::unique_ptr<Op> make_layer_norm(std::string name, float epsilon, bool whole_sample,
                                    const LayerNormWeights& weights, Tensor* in, Tensor* out);

// `full`: the input's shape with its dead positions; alpha has `floats` floats, padding included.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::int64_t weights, std::int64_t floats,
                               Tensor* in, Tensor* out);

std::unique_ptr<Op> make_depthwise(std::string name, const cpu::DepthwisePlane& plane, bool relu,
                                   const ProductWeights& weights, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
