#pragma once
#include <memory>
#include <optional>

#include "engine/cuda/kernels/few_channels.h"
#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

// Dropout that an operation applies in its own pass.
struct FusedDropout {
  double rate = 0;
  std::uint32_t layer = 0;
  std::int64_t full_size = 0, full_width = 1;
};
DropoutMask dropout_mask(const FusedDropout& dropout, int channels, const Pass& pass);

struct ProductWeights {
  std::int64_t kernel = 0;
  std::optional<std::int64_t> bias;
  std::optional<std::int64_t> operands;  // of the kernel, if it is cached as such
};

// What a dense layer leaves to the head: the slices of its sums, and how to finish them.
struct Unfinished {
  core::Bytes slices = 0;
  int count = 0;  // 0: nothing was left
  std::int64_t stride = 0;
  bool relu = false;
  std::optional<FusedDropout> dropout;
  std::optional<std::int64_t> bias;
};
// A first convolution, directly from the samples.
class FirstConvOp : public Op {
 public:
  using Op::Op;
  bool merged = false;  // the operation behind it runs its backward pass, and its forward pass too
                        // where that is on the tensor cores
  bool merged_forward(const Pass& pass) const { return merged && pass.math != Math::fp32; }
  bool rounds() const override { return true; }
  virtual const ConvShape& shape() const = 0;
  virtual FirstConv forward_part(const Pass& pass) const = 0;
  virtual FirstConv backward_part(const Pass& pass) const = 0;
};

class ProductOp : public Op {
 public:
  using Op::Op;
  // Merges the backward pass of the first convolution into its own, if that pays.
  virtual void merge(FirstConvOp& first, std::int64_t micro_batch) = 0;
  bool rounds() const override { return true; }
  bool head_follows = false;  // which finishes the slices
  // Sigmoid or tanh after it, which only some support.
  virtual bool takes_function() const { return false; }
  Function function = Function::linear;
  Unfinished unfinished;

 protected:
  // The gradient through that function, unless its producer already applied it.
  void undo_function(const Pass& pass) const;
};

// A convolution or dense layer with the following ReLU, 2×2 max pooling and dropout.
std::unique_ptr<ProductOp> make_product(std::string name, const ConvShape& shape, bool relu,
                                        const std::optional<FusedDropout>& dropout,
                                        const ProductWeights& weights, Tensor* in, Tensor* out,
                                        bool few_channels, const Chip& chip);

// The same with operands packed in memory: the input and the kernel by the forward pass, which
// keeps them for the backward pass if they are small; the gradient by the latter.
std::unique_ptr<ProductOp> make_packed_product(std::string name, const ConvShape& shape, bool relu,
                                               const std::optional<FusedDropout>& dropout,
                                               const ProductWeights& weights, Tensor* in,
                                               Tensor* out, bool few_channels);
// Whether the forward pass over few channels has its own kernel, and that kernel.
bool runs_few_channels(const Chip& chip, const ConvShape& shape, const Tensor& in,
                       std::int64_t micro_batch, Math math);
FewChannels few_channels_pass(const ConvShape& shape, bool relu, const ProductWeights& weights,
                              const Tensor& in, const Tensor& out, const Pass& pass);
// The same for the input's gradient, from floats, which competes with a product or with a packed
// one; `code` may be null.
bool runs_few_channels_gradient(const ConvShape& shape, const Tensor& in, const Tensor& out,
                                Math math, bool packed);
// The same for its weight gradient; `terms`: the operation behind could write its gradient as
// terms.
bool runs_few_channels_weights(const Chip& chip, const ConvShape& shape, const Tensor& in,
                               std::int64_t micro_batch, Math math, bool terms = false);
void run_few_channels_gradient(const ConvShape& shape, const ProductWeights& weights,
                               const Tensor& in, const Tensor& out, const std::uint8_t* code,
                               Pass& pass);
// A dense layer of many weights with few samples.
bool runs_thin(const ConvShape& shape, std::int64_t micro_batch);
std::unique_ptr<ProductOp> make_thin_product(std::string name, const ConvShape& shape, bool relu,
                                             const std::optional<FusedDropout>& dropout,
                                             const ProductWeights& weights, Tensor* in,
                                             Tensor* out);
// A large dense layer, or 1×1 convolution, with cuBLASLt, if present.
bool runs_matmul(const ConvShape& shape, std::int64_t micro_batch, Math math);
std::unique_ptr<ProductOp> make_matmul_product(std::string name, const ConvShape& shape, bool relu,
                                               const std::optional<FusedDropout>& dropout,
                                               const ProductWeights& weights, Tensor* in,
                                               Tensor* out, std::int64_t micro_batch, Math math);
// Whether all of the shape's products keep whole samples in shared memory.
bool runs_on_chip(const Chip& chip, const ConvShape& shape);

// The same for a first convolution over few channels, directly from the samples.
std::unique_ptr<FirstConvOp> make_first_conv(std::string name, const ConvShape& shape, int full_h,
                                             int full_w, bool relu, const ProductWeights& weights,
                                             Tensor* out);

struct LossPlaces {
  core::Bytes losses = 0, correct = 0;
};
class LossOp : public Op {
 public:
  using Op::Op;
  LossPlaces places;  // of this micro-batch's samples
  const ProductOp* before = nullptr;
};
// The last dense layer and the loss in one.
std::unique_ptr<LossOp> make_head(std::string name, int depth, int outputs, LossKind loss,
                                  bool softmax, const ProductWeights& weights, Tensor* in);
// The loss alone.
std::unique_ptr<LossOp> make_loss(std::string name, LossKind loss, bool softmax, Tensor* in);

// A weight gradient as a product.
struct WeightGradient {
  TileKind tile = TileKind::small;
  int tiles_m = 1, tiles_n = 1, splits = 1, split_depth = 1;
  bool fine = false;
};
WeightGradient choose_weight_gradient(const Chip& chip, const ConvShape& shape,
                                      std::int64_t micro_batch, Math math);
GemmPart product_part(const ConvShape& shape, int count);
std::string product_method(const ConvShape& shape, bool relu, bool dropout);
void set_weight_gradient(GemmPart& part, const WeightGradient& choice);

}  // namespace sweetspot::engine::cuda
