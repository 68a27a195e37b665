#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "engine/cpu/compiled_plan.h"
#include "engine/cpu/few_channels.h"
#include "engine/cpu/flatten.h"
#include "engine/cpu/kernels/bf16_support.h"
#include "engine/cpu/memory_planner.h"
#include "engine/cpu/ops/batch_norm.h"
#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_on_tiles.h"
#include "engine/cpu/ops/conv_product.h"
#include "engine/cpu/ops/dense.h"
#include "engine/cpu/ops/ops.h"
#include "engine/extents.h"
#include "engine/fusion.h"

namespace sweetspot::engine::cpu {
namespace {

// Turns layers into operations, merging those that run as one.
class Compiler {
 public:
  Compiler(const model::Network& network, model::Loss loss, std::int64_t micro_batch, bool training,
           Precision precision)
      : network_(network),
        loss_(loss),
        bf16_(training && precision == Precision::bf16),
        extents_(live_extents(network)) {
    program_.micro_batch = micro_batch, program_.training = training;
    program_.weights = weight_layout(network);
  }

  Program compile() {
    if (program_.weights.trainable_floats() == 0)
      throw core::InputError(
          fmt::format("model {} has nothing to train; add a layer with weights", network_.name));
    if (!starts_with_conv() && !rescales_for_conv())
      push(make_input(network_.input, tensor(extents_.front())), false);
    first_operation_.assign(network_.layers.size(), 0);
    for (layer_ = 0; layer_ < network_.layers.size(); ++layer_) {
      first_operation_[layer_] = program_.ops.size();
      std::visit([this](const auto& kind) { add(kind); }, network_.layers[layer_].kind);
    }
    if (loss_ != model::Loss::mean_squared_error && !softmax_)
      throw core::InputError(fmt::format(
          "model {} does not end in softmax, which {} needs; use --loss mean_squared_error",
          network_.name, model::name(loss_)));
    push(make_loss(loss_, softmax_, current_), false);
    make_stages();
    plan_memory(program_);
    return std::move(program_);
  }

 private:
  bool starts_with_conv() const {
    return !network_.layers.empty() &&
           std::holds_alternative<model::Conv2D>(network_.layers.front().kind);
  }
  // Rescaling the batch for a convolution that copies it anyway is not an operation of its own.
  bool rescales_for_conv() const {
    return network_.layers.size() > 1 &&
           std::holds_alternative<model::Rescaling>(network_.layers[0].kind) &&
           std::holds_alternative<model::Conv2D>(network_.layers[1].kind) &&
           conv_geometry(network_, extents_, 1).compact;
  }
  const model::Layer& layer() const { return network_.layers[layer_]; }

  Tensor* tensor(const Extent& extent) {
    program_.tensors.push_back(std::make_unique<Tensor>());
    program_.tensors.back()->extent = extent;
    return program_.tensors.back().get();
  }

  // `continues`: the op belongs to the previous one's operation in the list shown to users.
  void push(std::unique_ptr<Op> op, bool trainable, bool continues = false) {
    program_.operation_of.push_back(
        program_.ops.empty() ? 0 : program_.operation_of.back() + !continues);
    if (trainable && !seen_trainable_) {
      program_.first_trainable = program_.ops.size();
      op->wants_input_gradient = false;
      seen_trainable_ = true;
    }
    current_ = op->out() ? op->out() : current_;
    program_.ops.push_back(std::move(op));
  }

  // The offset of this layer's variable, if it has one.
  std::optional<std::size_t> variable(std::string_view name) const {
    for (const PackedVariable& v : program_.weights.variables())
      if (v.parameter.layer == layer_ &&
          v.parameter.name == fmt::format("{}/{}", layer().name, name))
        return static_cast<std::size_t>(v.offset);
    return std::nullopt;
  }

  void add_activation(const model::Activation& activation) {
    if (!stands_alone(activation, softmax_)) return;
    Tensor* out = tensor(current_->extent);
    push(element_function(activation) ? make_function(layer().name, activation, current_, out)
                                      : make_activation(layer().name, activation, current_, out),
         false);
  }

  // The max pooling after the current layer, if it can run in the convolution's pass.
  const model::Pooling2D* fusable_pool(const ConvGeometry& g, model::Activation activation) const {
    if (layer_ + 1 >= network_.layers.size() || (g.compact && !g.raw_input)) return nullptr;
    if (activation != model::Activation::relu && activation != model::Activation::linear)
      return nullptr;
    const model::Layer& next = network_.layers[layer_ + 1];
    const auto* pool = std::get_if<model::Pooling2D>(&next.kind);
    const bool fits =
        pool && pool->kind == model::Pooling2D::Kind::max && pool->size == pool->strides &&
        pool->size.height * pool->size.width < no_gradient &&
        extents_[layer_ + 1].height == extents_[layer_ + 2].height * pool->size.height &&
        extents_[layer_ + 1].width == extents_[layer_ + 2].width * pool->size.width;
    return fits ? pool : nullptr;
  }

  // `g`: the convolution whose gradient it is.
  void add_transposed(const model::Conv2D& conv, ConvGeometry g) {
    g.weights = *variable("kernel");
    const std::optional<std::size_t> bias = variable("bias");
    const std::string name = layer().name;
    Tensor* out = tensor(g.in);
    const bool relu = takes_relu(network_, layer_, conv.activation);
    push(make_transposed_conv(name, g, bias, relu, program_.micro_batch, current_, out), true);
    add_activation(conv.activation);
  }

  std::unique_ptr<Op> conv_on_tiles(const std::string& name, const ConvGeometry& g, Tensor* out) {
    if (!g.raw_input && !program_.ops.empty() && program_.ops.back()->out() == current_)
      current_->tiled = program_.ops.back()->makes_tiles();
    return make_conv_on_tiles(name, g, current_, out);
  }

  void add(const model::Conv2D& conv) {
    if (runs_transposed(network_, layer_))
      return add_transposed(conv, transposed_geometry(network_, extents_, layer_));
    ConvGeometry g = conv_geometry(network_, extents_, layer_);
    if (runs_from_few(g)) return add_transposed(conv, from_few(g));
    if (layer_ == 1 && rescales_for_conv()) {
      const auto& rescaling = std::get<model::Rescaling>(network_.layers[0].kind);
      g.raw_input = true;
      g.scale = static_cast<float>(rescaling.scale), g.shift = static_cast<float>(rescaling.offset);
    }
    g.weights =
        *variable(conv.layout == model::Conv2D::Kernel::pointwise ? "pointwise_kernel" : "kernel");
    g.bias = variable("bias");
    const std::string name = layer().name;
    g.relu = takes_relu(network_, layer_, conv.activation);
    const model::Pooling2D* pool = fusable_pool(g, conv.activation);
    // Over few channels a product is short, and rounding errors do not average out: the GPU engine
    // keeps the first convolution in fp32 too. One that is pooled is rounded nevertheless: it has
    // many outputs, of which a maximum is taken, and bf16 halves its time.
    constexpr std::int64_t few_channels = 4;
    g.bf16 = bf16_ && (pool || g.in.channels > few_channels);
    g.tiles = g.bf16 && bf16_support().tiles();
    if (pool) {
      g.pool = pool->size;
      ++layer_;
      Tensor* out = tensor(extents_[layer_ + 1]);
      push(runs_on_sample_tiles(g, program_.micro_batch)
               ? conv_on_tiles(name, g, out)
               : make_conv_pool(name, g, program_.micro_batch, current_, out),
           true);
    } else if (runs_as_product(g, program_.micro_batch)) {
      add_product(name, g);
      add_activation(conv.activation);
    } else {
      push(runs_on_sample_tiles(g, program_.micro_batch)
               ? conv_on_tiles(name, g, tensor(g.out))
               : make_conv(name, g, program_.micro_batch, current_, tensor(g.out)),
           true);
      add_activation(conv.activation);
    }
  }

  void add_product(const std::string& name, const ConvGeometry& g) {
    const std::int64_t rows = g.out.positions();
    push(make_patches(name, g, current_, tensor({1, 1, rows * g.depth()})), false);
    DenseGeometry product;
    product.depth = g.depth(), product.columns = product.outputs = g.columns();
    product.rows = rows;
    product.weights = g.weights, product.bias = g.bias, product.relu = g.relu;
    product.bf16 = g.bf16, product.tiles = g.tiles;
    product.wants_input_gradient = program_.training && seen_trainable_;
    push(make_dense(name, product, program_.micro_batch, current_,
                    tensor({1, 1, rows * g.columns()})),
         true, true);
    push(make_rows_to_image(name, g.out, current_, tensor(g.out)), false, true);
  }

  void add(const model::DepthwiseConv2D& conv) {
    DepthwiseGeometry g;
    g.plane = depthwise_plane(network_, extents_, layer_);
    g.weights = *variable(
        conv.layout == model::DepthwiseConv2D::Kernel::grouped ? "kernel" : "depthwise_kernel");
    g.bias = variable("bias");
    const std::string name = layer().name;
    Tensor* out = tensor(extents_[layer_ + 1]);
    g.relu = takes_relu(network_, layer_, conv.activation);
    push(make_depthwise(name, g, current_, out), true);
    add_activation(conv.activation);
  }

  void add(const model::Dense& dense) {
    DenseGeometry g;
    g.depth = current_->extent.floats();
    g.outputs = dense.units, g.columns = round_up(g.outputs, unit);
    g.weights = *variable("kernel"), g.bias = variable("bias");
    g.wants_input_gradient = program_.training && seen_trainable_;
    const std::string name = layer().name;
    const Extent out{1, 1, dense.units};
    g.relu = takes_relu(network_, layer_, dense.activation);
    g.bf16 = bf16_, g.tiles = bf16_ && bf16_support().tiles();
    if (reads_rounded_rows(g, program_.micro_batch) && !program_.ops.empty() &&
        program_.ops.back()->out() == current_)
      current_->rounded = program_.ops.back()->rounds_output();
    push(make_dense(name, g, program_.micro_batch, current_, tensor(out)), true);
    add_activation(dense.activation);
  }

  void add(const model::BatchNormalization& norm) {
    BatchNormGeometry g;
    g.momentum = static_cast<float>(norm.momentum), g.epsilon = static_cast<float>(norm.epsilon);
    g.per_position = layer().input.vector;
    g.gamma = variable("gamma"), g.beta = variable("beta");
    g.moving_mean = *variable("moving_mean"), g.moving_variance = *variable("moving_variance");
    const std::string name = layer().name;
    g.relu = takes_relu(network_, layer_, model::Activation::linear);
    const bool trainable = norm.scale || norm.center;
    if (g.per_position) {
      push(make_vector_norm(name, g, program_.training ? program_.micro_batch : 0, current_,
                            tensor(current_->extent)),
           trainable);
      return;
    }
    Tensor* measured = tensor(current_->extent);
    measured->same_value_as = current_;
    ImageNorm parts = make_image_norm(name, g, current_, measured, tensor(current_->extent));
    push(std::move(parts.measure), trainable);
    push(std::move(parts.combine), false, true);
    push(std::move(parts.normalise), false, true);
  }

  void add(const model::Pooling2D& pool) {
    push(make_pool(layer().name, pool, layer().input, current_, tensor(extents_[layer_ + 1])),
         false);
  }
  void add(const model::GlobalAveragePooling2D&) {
    push(make_global_average(layer().name, current_, tensor({1, 1, current_->extent.channels})),
         false);
  }
  void add(const model::GlobalMaxPooling2D&) {
    const model::Window all{layer().input.height, layer().input.width};
    push(make_pool(layer().name, {model::Pooling2D::Kind::max, all, all, model::Padding::valid},
                   layer().input, current_, tensor({1, 1, current_->extent.channels})),
         false);
  }
  void add(const model::Flatten&) {}
  void add(const model::Border& border) {
    if (layer_ + 1 < network_.layers.size() && runs_transposed(network_, layer_ + 1)) return;
    push(make_border(layer().name, border, current_, tensor(extents_[layer_ + 1])), false);
  }
  void add(const model::Repeat& repeat) {
    push(make_repeat(layer().name, repeat, current_, tensor(extents_[layer_ + 1])), false);
  }
  void add(const model::Rearrange& rearrange) {
    const Extent& to = extents_[layer_ + 1];
    push(make_rearrange(layer().name, rearranged_from(rearrange, current_->extent, to), current_,
                        tensor(to)),
         false);
  }
  void add(const model::Rescaling& rescaling) {
    if (layer_ == 0 && rescales_for_conv()) return;
    push(make_rescaling(layer().name, rescaling, current_, tensor(current_->extent)), false);
  }
  void add(const model::PReLU& prelu) {
    push(make_prelu(layer().name, prelu, layer().input, *variable("alpha"), current_,
                    tensor(current_->extent)),
         true);
  }
  void add(const model::LayerNormalization& norm) {
    LayerNormGeometry g;
    g.epsilon = static_cast<float>(norm.epsilon), g.whole_sample = layer().input.vector;
    g.gamma = variable("gamma"), g.beta = variable("beta");
    push(make_layer_norm(layer().name, g, current_, tensor(current_->extent)),
         norm.scale || norm.center);
  }
  void add(const model::GaussianNoise& noise) {
    if (noise.stddev == 0 || !program_.training) return;
    push(make_gaussian_noise(layer().name, noise.stddev, static_cast<std::uint32_t>(layer_),
                             layer().input, current_, tensor(current_->extent)),
         false);
  }
  void add(const model::Dropout& dropout) {
    if (dropout.rate == 0 || !program_.training) return;
    if (dropout.whole_channels) {
      push(make_channel_dropout(layer().name, dropout.rate, static_cast<std::uint32_t>(layer_),
                                current_, tensor(current_->extent)),
           false);
      return;
    }
    push(make_dropout(layer().name, dropout.rate, static_cast<std::uint32_t>(layer_), layer().input,
                      current_, tensor(current_->extent)),
         false);
  }
  void add(const model::Activate& activate) {
    if (activate.function == model::Activation::relu)
      push(make_activation(layer().name, activate.function, current_, tensor(current_->extent)),
           false);
    else
      add_activation(activate.function);
  }

  // The samples that go through a stage together must stay in cache with all intermediate values.
  std::int64_t samples_in_cache(std::size_t begin, std::size_t end) const {
    constexpr std::int64_t cached_floats = 1024 * 1024;
    std::int64_t floats = 1;
    for (std::size_t i = begin; i < end; ++i)
      if (program_.ops[i]->out()) floats += program_.ops[i]->out()->extent.floats();
    return std::max<std::int64_t>(cached_floats / floats, 1);
  }

  // Weights are stored in layer order, and backward visits them from last to first. A layer's
  // gradients are complete when its first operation is done.
  std::int64_t made_from(const Stage& stage) const {
    std::int64_t from = program_.weights.trainable_floats();
    for (const PackedVariable& variable : program_.weights.variables())
      if (variable.parameter.trainable && first_operation_[variable.parameter.layer] >= stage.begin)
        from = std::min(from, variable.offset);
    return from;
  }

  // Whether operation i may not join a stage because one of both needs whole blocks: they would not
  // stay in cache, or (`both_convolutions`) only one of two convolutions needs them.
  bool breaks_block(const Stage& stage, std::size_t i, bool both_convolutions) const {
    const std::int64_t own = program_.ops[i]->block(), block = std::max(stage.block, own);
    if (both_convolutions && own != stage.block) return true;
    return block > 1 && samples_in_cache(stage.begin, i + 1) < block;
  }

  // The loss, and what has no weights before it. With a convolution it would not be known which
  // time is forward's.
  void set_with_backward(Stage& last) const {
    last.with_backward = program_.training && !last.whole && last.block == 1;
    for (std::size_t i = last.begin; i < last.end; ++i)
      last.with_backward &= program_.ops[i]->slot_floats == 0;
  }

  void make_stages() {
    // The convolutions of a stage need the same number of samples at once; a change starts a new
    // stage. Their inputs are kept in the arena anyway.
    std::int64_t convolution_samples = 0;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = *program_.ops[i];
      const std::int64_t samples = op.slot_floats > 0 ? op.samples_at_once() : 0;
      const bool changes =
          samples > 0 && convolution_samples > 0 && (samples > 1) != (convolution_samples > 1);
      if (op.whole() || program_.stages.empty() || program_.stages.back().whole || changes ||
          breaks_block(program_.stages.back(), i, samples > 0 && convolution_samples > 0)) {
        program_.stages.push_back({i, i + 1, op.whole()});
        convolution_samples = 0;
      }
      Stage& stage = program_.stages.back();
      stage.end = i + 1;
      stage.samples = std::max({stage.samples, samples, op.samples_welcome()});
      stage.block = std::max(stage.block, op.block());
      if (samples > 0) convolution_samples = std::max(convolution_samples, samples);
    }
    for (Stage& stage : program_.stages) {
      stage.samples = stage.block > 1
                          ? stage.block
                          : std::min(stage.samples, samples_in_cache(stage.begin, stage.end));
      stage.made_from = made_from(stage);
      program_.block = std::max(program_.block, stage.block);
    }
    set_with_backward(program_.stages.back());
    std::int64_t at = 0;
    for (const auto& op : program_.ops) {
      const Range late = op->late_weights();
      if (late.begin == late.end) continue;
      program_.early_weights.push_back({at, late.begin});
      at = late.end;
    }
    program_.early_weights.push_back({at, program_.weights.trainable_floats()});
  }

  const model::Network& network_;
  model::Loss loss_;
  bool bf16_;
  std::vector<Extent> extents_;
  Program program_;
  std::vector<std::size_t> first_operation_;  // of each layer; 0 for a fused one
  Tensor* current_ = nullptr;
  std::size_t layer_ = 0;
  bool softmax_ = false, seen_trainable_ = false;
};

}  // namespace

model::Network without_randomness(model::Network network) {
  for (model::Layer& layer : network.layers) {
    if (auto* dropout = std::get_if<model::Dropout>(&layer.kind)) dropout->rate = 0;
    if (auto* noise = std::get_if<model::GaussianNoise>(&layer.kind)) noise->stddev = 0;
  }
  return network;
}

Program compile(const model::Network& network, model::Loss loss, std::int64_t micro_batch,
                bool training, Precision precision) {
  return Compiler(with_cheap_flattening(network), loss, micro_batch, training, precision).compile();
}

}  // namespace sweetspot::engine::cpu
