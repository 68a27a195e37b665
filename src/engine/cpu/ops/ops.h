#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "engine/cpu/op.h"
#include "engine/element_function.h"

// The operations that layers are compiled to, one source each. Convolutions, dense layers and batch
// normalisation have headers of their own.
namespace sweetspot::engine::cpu {

// Copies the part of a sample that is read from Keras' order into units of 16 channels.
std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out);
std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out);
// `full`: the shape including dead positions, which indexes the mask.
std::unique_ptr<Op> make_dropout(std::string name, double rate, std::uint32_t layer,
                                 const model::Shape& full, Tensor* in, Tensor* out);

// Of an activation that is an element_function().
std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out);

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out);

std::unique_ptr<Op> make_border(std::string name, const model::Border& border, Tensor* in,
                                Tensor* out);
std::unique_ptr<Op> make_repeat(std::string name, const model::Repeat& repeat, Tensor* in,
                                Tensor* out);

// The source of element i of the output in memory order, −1 for padding.
std::vector<std::int32_t> rearranged_from(const model::Rearrange& rearrange, const Extent& in,
                                          const Extent& out);
std::unique_ptr<Op> make_rearrange(std::string name, const std::vector<std::int32_t>& from,
                                   Tensor* in, Tensor* out);

// Max or average pooling with any overlap and padding; an average counts only real positions, as in
// Keras. `full`: the input's extent including dead positions.
std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out);
std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out);

// Weights are stored as (units, taps, 16).
struct DepthwiseGeometry {
  DepthwisePlane plane;
  bool relu = false;
  std::size_t weights = 0;  // offsets into the weight buffer, in floats
  std::optional<std::size_t> bias;

  std::int64_t taps() const { return plane.kernel_height * plane.kernel_width; }
};
// Keras' (height, width, channel) → index in the weights.
std::vector<std::int32_t> depthwise_places(std::int64_t taps, std::int64_t channels);

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwiseGeometry& geometry, Tensor* in,
                                   Tensor* out);

struct LayerNormGeometry {
  float epsilon = 1e-3f;
  bool whole_sample = false;  // a vector, flattened or not, rather than each position's channels
  std::optional<std::size_t> gamma, beta;  // offsets into the weight buffer, in floats
};

std::unique_ptr<Op> make_layer_norm(std::string name, const LayerNormGeometry& geometry, Tensor* in,
                                    Tensor* out);

// `full`: the input's shape including dead positions, which indexes alpha, at `weights`.
std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::size_t weights, Tensor* in,
                               Tensor* out);

// Adds normal noise. `full`: the shape including dead positions, which indexes the random numbers.
std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, std::uint32_t layer,
                                        const model::Shape& full, Tensor* in, Tensor* out);
// Dropout of whole channels.
std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out);

struct SampleLoss {
  double loss;
  std::int64_t correct;
};

// The loss of each sample, kept as a SampleLoss, and its gradient to the output. `softmax`: the
// network's last function, computed here together with the loss.
std::unique_ptr<Op> make_loss(model::Loss loss, bool softmax, Tensor* in);

}  // namespace sweetspot::engine::cpu
