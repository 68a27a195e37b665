#pragma once
#include <memory>
#include <optional>

#include "engine/cuda/op.h"
#include "engine/cuda/ops/product.h"
#include "engine/layers.h"
#include "model/network.h"

// The operations that layers are compiled to; those that are products are in product.h.
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

// With the dropout behind it, if a sample's layout is that of its random numbers.
std::unique_ptr<Op> make_function(std::string name, const engine::ElementFunction& function,
                                  const std::optional<FusedDropout>& dropout, Tensor* in,
                                  Tensor* out);
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_rearrange(std::string name, const model::Rearrange& rearrange, Tensor* in,
                                   Tensor* out);

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwisePlane& plane, bool relu,
                                   const ProductWeights& weights, Tensor* in, Tensor* out);

struct NormWeights {
  std::optional<std::int64_t> gamma, beta;
  std::int64_t moving_mean = 0, moving_variance = 0, floats = 0;
};
// What is fused into a normalisation's passes.
struct NormFusion {
  bool per_position = false;  // a flattened image, each of whose elements is a feature
  model::Activation activation = model::Activation::linear;  // after it
  bool pooled = false;                                       // 2×2 max pooling after that
};
std::unique_ptr<Op> make_norm(std::string name, const model::BatchNormalization& norm,
                              const NormFusion& fusion, const NormWeights& weights, Tensor* in,
                              Tensor* out);

struct LayerNormWeights {
  std::optional<std::int64_t> gamma, beta;
  std::int64_t floats = 0;  // of each, including padding
};
std::unique_ptr<Op> make_layer_norm(std::string name, float epsilon, bool whole_sample,
                                    const LayerNormWeights& weights, Tensor* in, Tensor* out);

// A batch normalisation directly behind a dense layer.
struct NormBehind {
  model::BatchNormalization layer;
  NormWeights weights;
  model::Activation activation = model::Activation::linear;  // after it
};

// A dense layer of few weights with few samples, in training.
bool runs_small(const ConvShape& shape, std::int64_t micro_batch, bool normalised);
std::unique_ptr<ProductOp> make_small_dense(std::string name, const ConvShape& shape, bool relu,
                                            const std::optional<FusedDropout>& dropout,
                                            const ProductWeights& weights,
                                            const std::optional<NormBehind>& norm, Tensor* in,
                                            Tensor* out);

// `full`: the input's shape including dead positions; alpha has `floats` floats, including padding.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::int64_t weights, std::int64_t floats,
                               Tensor* in, Tensor* out);

// Normal noise, with the random numbers of a dropout of rate 0.
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, const FusedDropout& draws,
                                        Tensor* in, Tensor* out);
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cuda
