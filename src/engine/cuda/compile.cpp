#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/error.h"
#include "engine/cuda/compiled_plan.h"
#include "engine/cuda/hand_over.h"
#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/packed_tiles.h"
#include "engine/cuda/shapes.h"
#include "engine/element_function.h"
#include "engine/fusion.h"

namespace sweetspot::engine::cuda {
namespace {

// Turns layers into operations, merging those that run as one.
class Compiler {
 public:
  Compiler(const model::Network& network, model::Loss loss, std::int64_t micro_batch, bool training,
           Math math, const Chip& chip)
      : network_(network),
        loss_(loss),
        extents_(live_extents(network)),
        planner_(micro_batch, training, math, chip) {
    program_.micro_batch = micro_batch, program_.training = training;
    program_.weights = weight_layout(network, extents_, math);
  }

  Program compile() {
    if (program_.weights.trainable_floats == 0)
      throw core::InputError(
          fmt::format("model {} has nothing to train; add a layer with weights", network_.name));
    if (!starts_from_samples(network_, extents_))
      push(make_input(network_.input, tensor(extents_.front())), false);
    for (layer_ = 0; layer_ < network_.layers.size() && !program_.loss; ++layer_)
      std::visit([this](const auto& kind) { add(kind); }, network_.layers[layer_].kind);
    if (loss_ != model::Loss::mean_squared_error && !softmax_)
      throw core::InputError(fmt::format(
          "model {} does not end in softmax, which {} needs; use --loss mean_squared_error",
          network_.name, model::name(loss_)));
    if (!program_.loss)
      push_loss(make_loss(std::string(model::name(loss_)), loss_kind(), softmax_, current_), false);
    mark_last_launch();
    check_sizes();
    hand_over_functions(program_);
    hand_over_terms(program_, planner_);
    lay_out();
    leave_updates(program_, planner_.math());
    return std::move(program_);
  }

 private:
  const model::Layer& layer() const { return network_.layers[layer_]; }
  bool training() const { return program_.training; }
  LossKind loss_kind() const {
    return loss_ == model::Loss::mean_squared_error ? LossKind::squared_error
                                                    : LossKind::cross_entropy;
  }

  Tensor* tensor(const Extent& extent) {
    auto made = std::make_unique<Tensor>();
    made->height = static_cast<int>(extent.height), made->width = static_cast<int>(extent.width);
    made->channels = static_cast<int>(extent.channels), made->pitch = padded(extent.channels);
    program_.tensors.push_back(std::move(made));
    return program_.tensors.back().get();
  }
  Extent extent_of(const Tensor& t) const { return {t.height, t.width, t.channels}; }

  void push(std::unique_ptr<Op> op, bool trainable) {
    if (trainable && !seen_trainable_) {
      program_.first_trainable = program_.ops.size();
      op->wants_input_gradient = false;
      seen_trainable_ = true;
    }
    current_ = op->out() ? op->out() : current_;
    program_.ops.push_back(std::move(op));
  }
  void push_product(std::unique_ptr<ProductOp> op) {
    last_product_ = op.get();
    push(std::move(op), true);
  }
  void push_loss(std::unique_ptr<LossOp> op, bool trainable) {
    program_.loss = op.get();
    push(std::move(op), trainable);
  }

  std::optional<std::int64_t> variable(std::string_view name, std::size_t layer) const {
    const PlacedVariable* found = program_.weights.find(layer, name);
    return found ? std::optional(found->offset) : std::nullopt;
  }
  ProductWeights product_weights(std::size_t layer) const {
    const PlacedVariable* kernel = nullptr;
    for (const char* name : {"kernel", "pointwise_kernel", "depthwise_kernel"})
      if (!kernel) kernel = program_.weights.find(layer, name);
    return {kernel->offset, variable("bias", layer), kernel->operands};
  }

  void add_activation(const model::Activation& activation) {
    if (!stands_alone(activation, softmax_)) return;
    Tensor* out = tensor(extent_of(*current_));
    const std::string name = layer().name;
    const auto function = element_function(activation);
    push(function ? make_function(name, *function, takes_dropout_behind(*function), current_, out)
                  : make_activation(name, activation, current_, out),
         false);
  }
  // The dropout behind a function, with or without Flatten between them.
  std::optional<FusedDropout> takes_dropout_behind(const ElementFunction& function) {
    const auto next = dropout_behind(network_, layer_);
    if (!next || !training() || !derives_from_input(function.kind)) return std::nullopt;
    const FusedDropout fused =
        dropout_of(std::get<model::Dropout>(network_.layers[*next].kind), *next, *current_);
    if (current_->channels != current_->pitch || current_->width != fused.full_width)
      return std::nullopt;
    layer_ = *next;
    return fused;
  }
  static bool takes_function(ProductOp& product, model::Activation activation) {
    const bool known =
        activation == model::Activation::tanh || activation == model::Activation::sigmoid;
    if (!known || !product.takes_function()) return false;
    product.function = function_of(activation);
    return true;
  }

  FusedDropout dropout_of(const model::Dropout& dropout, std::size_t layer,
                          const Tensor& in) const {
    const model::Shape& full = network_.layers[layer].input;
    // A flattened image uses the image's order.
    return {dropout.rate, static_cast<std::uint32_t>(layer), full.size(),
            full.vector ? in.width : full.width};
  }

  // Dropout after the current layer, with or without Flatten between them, runs in the layer's pass
  // if a product follows, whose backward pass applies its scale.
  std::optional<FusedDropout> takes_dropout(model::Activation activation, const Tensor& out) {
    if (activation != model::Activation::relu && activation != model::Activation::linear)
      return std::nullopt;
    const auto next = dropout_behind(network_, layer_);
    if (!next || !training()) return std::nullopt;
    std::size_t after = *next + 1;
    if (!past_flatten<model::Dense>(network_, after) &&
        !past_flatten<model::Conv2D>(network_, after))
      return std::nullopt;
    const FusedDropout fused =
        dropout_of(std::get<model::Dropout>(network_.layers[*next].kind), *next, out);
    layer_ = *next;
    return fused;
  }

  std::unique_ptr<ProductOp> product_of(const std::string& name, const ConvShape& shape, bool relu,
                                        const std::optional<FusedDropout>& dropout,
                                        const ProductWeights& weights, Tensor* out) {
    const Chip& chip = planner_.chip();
    if (!runs_on_chip(chip, shape) && runs_matmul(shape, program_.micro_batch, planner_.math()))
      return make_matmul_product(name, shape, relu, dropout, weights, current_, out,
                                 program_.micro_batch, planner_.math());
    if (runs_thin(shape, program_.micro_batch))
      return make_thin_product(name, shape, relu, dropout, weights, current_, out);
    // The head finishes the product of the layer before it.
    if (training() && !last_dense_behind(network_, layer_) &&
        runs_small(shape, program_.micro_batch, false))
      return make_small_dense(name, shape, relu, dropout, weights, {}, current_, out);
    const bool few_channels =
        runs_few_channels(chip, shape, *current_, program_.micro_batch, planner_.math());
    PackingCase packing{
        shape,        program_.micro_batch,     training(), seen_trainable_, planner_.math(),
        few_channels, runs_on_chip(chip, shape)};
    if (packed_terms(planner_.math()) <= 2 && shape.channels % 8 == 0) {
      packing.input_packed = program_.ops.back()->writes_terms();
      packing.kernel_packed = weights.operands && packed_terms(planner_.math()) == 1;
    }
    packing.gradient_packed = packed_terms(planner_.math()) <= 2 && !relu && !dropout &&
                              shape.pool == 1 && norm_behind(network_, layer_);
    const bool direct =
        few_channels && runs_few_channels_weights(chip, shape, *current_, program_.micro_batch,
                                                  planner_.math(), packing.gradient_packed);
    // On chip the tensor cores keep up with packed operands, fp32 does not; and a first convolution
    // merges with such a product only.
    const bool merges = first_conv_ && first_conv_->out() == current_;
    const bool stays = packing.on_chip && (merges || planner_.math() != Math::fp32);
    if (!direct && !stays && packing_pays(chip, packing))
      return make_packed_product(name, shape, relu, dropout, weights, current_, out, few_channels);
    return make_product(name, shape, relu, dropout, weights, current_, out, few_channels, chip);
  }

  void add(const model::Conv2D& conv) {
    const std::size_t at = layer_;
    const std::string name = layer().name;
    ConvShape shape = conv_shape(network_, extents_, at);
    const bool from_samples = at == 0 && starts_from_samples(network_, extents_);
    const bool relu = takes_relu(network_, layer_, conv.activation);
    const bool plain = relu || conv.activation == model::Activation::linear;
    if (plain && pooled_by_two(network_, extents_, layer_ + 1)) shape.pool = 2, ++layer_;
    Tensor* out = tensor(extents_[layer_ + 1]);
    if (from_samples) {
      shape.channels = static_cast<int>(extents_.front().channels);
      auto first =
          make_first_conv(name, shape, static_cast<int>(network_.input.height),
                          static_cast<int>(network_.input.width), relu, product_weights(at), out);
      first_conv_ = first.get();
      push(std::move(first), true);
      return;
    }
    const auto dropout = takes_dropout(conv.activation, *out);
    auto product = product_of(name, shape, relu, dropout, product_weights(at), out);
    if (training() && first_conv_ && first_conv_->out() == current_)
      product->merge(*first_conv_, program_.micro_batch), merging_ = product.get();
    const bool taken = takes_function(*product, conv.activation);
    push_product(std::move(product));
    if (!taken) add_activation(conv.activation);
  }

  void add(const model::DepthwiseConv2D& conv) {
    const std::size_t at = layer_;
    const std::string name = layer().name;
    Tensor* out = tensor(extents_[at + 1]);
    const bool relu = takes_relu(network_, layer_, conv.activation);
    push(make_depthwise(name, depthwise_plane(network_, extents_, at), relu, product_weights(at),
                        current_, out),
         true);
    add_activation(conv.activation);
  }

  void add(const model::Dense& dense) {
    const std::size_t at = layer_;
    const std::string name = layer().name;
    const ConvShape shape = dense_shape(extent_of(*current_), dense.units);
    if (ends_here(dense) && shape.channels <= head_most_depth && dense.units <= head_most_outputs) {
      softmax_ = softmax_ || dense.activation == model::Activation::softmax;
      auto head = make_head(name, shape.channels, static_cast<int>(dense.units), loss_kind(),
                            softmax_, product_weights(at), current_);
      if (last_product_ && last_product_->out() == current_)
        last_product_->head_follows = last_product_->function == Function::linear,
        head->before = last_product_;
      push_loss(std::move(head), true);
      return;
    }
    Tensor* out = tensor({1, 1, dense.units});
    if (dense.activation == model::Activation::linear)
      if (const auto norm = takes_norm(shape))
        return push_product(
            make_small_dense(name, shape, false, {}, product_weights(at), norm, current_, out));
    const bool relu = takes_relu(network_, layer_, dense.activation);
    const auto dropout = takes_dropout(dense.activation, *out);
    auto product = product_of(name, shape, relu, dropout, product_weights(at), out);
    const bool taken = takes_function(*product, dense.activation);
    push_product(std::move(product));
    if (!taken) add_activation(dense.activation);
  }

  // Whether the loss follows: nothing, or only a softmax layer, is left.
  bool ends_here(const model::Dense& dense) {
    const bool last = layer_ + 1 == network_.layers.size();
    if (last)
      return dense.activation == model::Activation::linear ||
             dense.activation == model::Activation::softmax;
    if (dense.activation != model::Activation::linear || layer_ + 2 != network_.layers.size())
      return false;
    const auto* next = std::get_if<model::Activate>(&network_.layers.back().kind);
    if (!next || next->function != model::Activation::softmax) return false;
    return softmax_ = true;
  }

  // The normalisation directly behind a dense layer, if that runs with it.
  std::optional<NormBehind> takes_norm(const ConvShape& shape) {
    if (!norm_behind(network_, layer_) || !training() || runs_thin(shape, program_.micro_batch) ||
        !runs_small(shape, program_.micro_batch, true))
      return std::nullopt;
    const auto& norm = std::get<model::BatchNormalization>(network_.layers[++layer_].kind);
    const NormWeights weights = norm_weights();
    return NormBehind{norm, weights, takes_activation()};
  }
  NormWeights norm_weights() const {
    NormWeights w;
    w.gamma = variable("gamma", layer_), w.beta = variable("beta", layer_);
    w.moving_mean = *variable("moving_mean", layer_);
    w.moving_variance = *variable("moving_variance", layer_);
    w.floats = program_.weights.find(layer_, "moving_mean")->floats;
    return w;
  }

  void add(const model::BatchNormalization& norm) {
    const NormWeights w = norm_weights();
    const std::string name = layer().name;
    NormFusion fusion{.per_position = layer().input.vector};
    fusion.activation = takes_activation();
    fusion.pooled = pooled_by_two(network_, extents_, layer_ + 1);
    if (fusion.pooled) ++layer_;
    const Extent out = fusion.pooled ? extents_[layer_ + 1] : extent_of(*current_);
    push(make_norm(name, norm, fusion, w, current_, tensor(out)), norm.scale || norm.center);
  }
  // The activation layer after the current one, if normalisation supports it: it runs in the same
  // pass.
  model::Activation takes_activation() {
    if (layer_ + 1 >= network_.layers.size()) return model::Activation::linear;
    const auto* next = std::get_if<model::Activate>(&network_.layers[layer_ + 1].kind);
    if (!next || next->function == model::Activation::softmax || element_function(next->function))
      return model::Activation::linear;
    ++layer_;
    return next->function;
  }
  void add(const model::Pooling2D& pool) {
    push(make_pool(layer().name, pool, layer().input, current_, tensor(extents_[layer_ + 1])),
         false);
  }
  void add(const model::GlobalAveragePooling2D&) {
    push(make_global_average(layer().name, current_, tensor({1, 1, current_->channels})), false);
  }
  void add(const model::GlobalMaxPooling2D&) {
    const model::Window all{layer().input.height, layer().input.width};
    push(make_pool(layer().name, {model::Pooling2D::Kind::max, all, all, model::Padding::valid},
                   layer().input, current_, tensor({1, 1, current_->channels})),
         false);
  }
  void add(const model::Flatten&) {}
  void add(const model::Border& border) {
    push(make_border(layer().name, border, current_, tensor(extents_[layer_ + 1])), false);
  }
  void add(const model::Repeat& repeat) {
    push(make_repeat(layer().name, repeat, current_, tensor(extents_[layer_ + 1])), false);
  }
  void add(const model::Rearrange& rearrange) {
    push(make_rearrange(layer().name, rearrange, current_, tensor(extents_[layer_ + 1])), false);
  }
  void add(const model::Rescaling& rescaling) {
    push(make_rescaling(layer().name, rescaling, current_, tensor(extent_of(*current_))), false);
  }
  void add(const model::PReLU& prelu) {
    const PlacedVariable* alpha = program_.weights.find(layer_, "alpha");
    push(make_prelu(layer().name, prelu, layer().input, alpha->offset, alpha->floats, current_,
                    tensor(extent_of(*current_))),
         true);
  }
  void add(const model::LayerNormalization& norm) {
    LayerNormWeights w{variable("gamma", layer_), variable("beta", layer_), 0};
    for (const char* name : {"gamma", "beta"})
      if (const PlacedVariable* v = program_.weights.find(layer_, name)) w.floats = v->floats;
    push(make_layer_norm(layer().name, static_cast<float>(norm.epsilon), layer().input.vector, w,
                         current_, tensor(extent_of(*current_))),
         norm.scale || norm.center);
  }
  void add(const model::GaussianNoise& noise) {
    if (noise.stddev == 0 || !training()) return;
    push(make_gaussian_noise(layer().name, noise.stddev, dropout_of({}, layer_, *current_),
                             current_, tensor(extent_of(*current_))),
         false);
  }
  void add(const model::Dropout& dropout) {
    if (dropout.rate == 0 || !training()) return;
    if (dropout.whole_channels) {
      push(make_channel_dropout(layer().name, dropout.rate, static_cast<std::uint32_t>(layer_),
                                current_, tensor(extent_of(*current_))),
           false);
      return;
    }
    push(make_dropout(layer().name, dropout_of(dropout, layer_, *current_), current_,
                      tensor(extent_of(*current_))),
         false);
  }
  void add(const model::Activate& activate) {
    if (activate.function == model::Activation::relu)
      push(make_activation(layer().name, activate.function, current_, tensor(extent_of(*current_))),
           false);
    else
      add_activation(activate.function);
  }

  // The backward pass ends with the first operation that has weights, and with what runs in the
  // same launch: the operation that merged it, and the head's weights, which share the next launch.
  void mark_last_launch() {
    Op* first = program_.ops[program_.first_trainable].get();
    first->in_last_launch = true;
    if (first_conv_ && first_conv_->merged) merging_->in_last_launch = true;
    if (program_.loss->before == first || program_.loss->before == nullptr)
      program_.ops.back()->in_last_launch = true;
  }

  // The kernels count positions of the whole micro-batch in 31 bits.
  void check_sizes() const {
    std::int64_t most = network_.input.height * network_.input.width;
    for (const Extent& extent : extents_) most = std::max(most, extent.positions());
    if (program_.micro_batch > std::numeric_limits<std::int32_t>::max() / (2 * most))
      throw core::InputError(
          fmt::format("a micro-batch of {} is more than the GPU engine can "
                      "count; use --accumulate to split it",
                      program_.micro_batch));
  }

  // In training every value stays for the backward pass, and two buffers are enough for the
  // gradients; if all together are small, each has its own, so that none is overwritten before a
  // branch has read it. In evaluation two are enough for the values.
  void lay_out() {
    const auto bytes = [](const Tensor& t) {
      return static_cast<core::Bytes>(t.floats()) * sizeof(float);
    };
    const auto value_bytes = [&](const Tensor& t) {
      const int terms = t.value_terms.terms;
      return terms == 0 ? bytes(t)
                        : static_cast<core::Bytes>(t.floats() * terms) * sizeof(std::uint16_t);
    };
    core::Bytes largest[2] = {0, 0}, buffers[2];
    for (std::size_t i = 0; i < program_.tensors.size(); ++i)
      largest[i % 2] = std::max(largest[i % 2], bytes(*program_.tensors[i]));
    core::Bytes all = 0;
    for (const auto& t : program_.tensors) all += bytes(*t);
    constexpr core::Bytes little = core::Bytes{256} << 20;
    planner_.branches = program_.branches =
        training() && static_cast<core::Bytes>(program_.micro_batch) * all <= little;
    for (int i : {0, 1}) buffers[i] = program_.branches ? 0 : planner_.claim_samples(largest[i]);
    for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
      Tensor& t = *program_.tensors[i];
      t.gradient = program_.branches ? planner_.claim_samples(bytes(t)) : buffers[i % 2];
      t.value = training() ? planner_.claim_samples(value_bytes(t)) : buffers[i % 2];
    }
    for (const auto& op : program_.ops) op->claim(planner_);
    add_penalties();
    program_.scratch = planner_.claim(planner_.scratch_bytes());
    program_.branch_scratch = planner_.claim(planner_.branch_scratch_bytes());
    program_.tickets = planner_.claim(planner_.ticket_bytes());
    program_.packed_input = planner_.claim(planner_.packed_input_bytes());
    program_.packed_gradient = planner_.claim(planner_.packed_gradient_bytes());
    program_.arena_bytes = planner_.arena_bytes();
    program_.partial_floats = planner_.partial_floats();
    const auto samples = static_cast<core::Bytes>(program_.micro_batch);
    HostBatch& host = program_.host_batch;
    host.sample_floats = network_.input.size(), host.outputs = network_.output().size();
    const std::int64_t answers =
        loss_ == model::Loss::sparse_categorical_crossentropy ? 1 : host.outputs;
    const auto floats = [&](std::int64_t each) {
      return Planner::round(samples * static_cast<core::Bytes>(each) * sizeof(float));
    };
    host.inputs_bytes = floats(host.sample_floats), host.answers_bytes = floats(answers);
  }

  // A penalty's slope is added to the partial gradients of its variable once those exist.
  void add_penalties() {
    for (const PlacedVariable& v : program_.weights.variables) {
      const model::Regularizer& r = v.parameter.regularizer;
      if (!r) continue;
      Penalty penalty{v.offset, v.floats, 0, static_cast<float>(r.l1), static_cast<float>(r.l2)};
      for (const PartialGradients& p : program_.partials())
        if (p.weights <= v.offset && v.offset + v.floats <= p.weights + p.floats)
          penalty.partials = p.offset + (v.offset - p.weights);
      program_.penalties.push_back(penalty);
    }
    if (!program_.penalties.empty())
      program_.penalty_sums = planner_.claim(penalty_sums * sizeof(double));
  }

  const model::Network& network_;
  model::Loss loss_;
  std::vector<Extent> extents_;
  Planner planner_;
  Program program_;
  Tensor* current_ = nullptr;
  ProductOp* last_product_ = nullptr;
  FirstConvOp* first_conv_ = nullptr;
  ProductOp* merging_ = nullptr;
  std::size_t layer_ = 0;
  bool softmax_ = false, seen_trainable_ = false;
};

}  // namespace

Program compile(const model::Network& network, model::Loss loss, std::int64_t micro_batch,
                bool training, Math math, const Chip& chip) {
  return Compiler(network, loss, micro_batch, training, math, chip).compile();
}

}  // namespace sweetspot::engine::cuda
