#include <algorithm>
#include <chrono>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <ranges>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "limits/limits.h"
#include "model/network.h"

namespace sweetspot::bench {

using dnnl::memory;
using Tag = memory::format_tag;

struct BarePrimitives::State {
  struct Call {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive_attr attributes;
  std::int64_t batch = 0;
  std::vector<Call> forward, backward;                 // backward runs from the last to the first
  std::map<std::string, std::vector<memory>> tensors;  // by name, one for each layout asked for
  std::size_t scratch_bytes = 0;
  memory::desc previous;  // output of the last convolution

  static memory::desc any(const memory::dims& dims) {
    return {dims, memory::data_type::f32, Tag::any};
  }

  // Passes that agree on a tensor's layout share its memory, so that caches see a real step.
  memory tensor(const std::string& name, const memory::desc& layout) {
    for (const memory& known : tensors[name])
      if (known.get_desc() == layout) return known;
    memory made(layout, engine);
    auto* bytes = static_cast<char*>(made.get_data_handle());
    std::fill_n(bytes, layout.get_size(), '\x3c');  // floats of 0.0115: touched pages, no denormals
    tensors[name].push_back(made);
    return made;
  }

  template <class Descriptor>
  void call(std::vector<Call>& pass, const Descriptor& descriptor,
            std::unordered_map<int, memory> arguments) {
    scratch_bytes = std::max(scratch_bytes, descriptor.scratchpad_desc().get_size());
    pass.push_back({dnnl::primitive(descriptor.get()), std::move(arguments)});
  }

  void add_convolution(const model::Layer& layer, const model::Conv2D& conv, bool first);
  void add_pooling(const model::Layer& layer, const model::Pooling2D& pool);
  void add_dense(const model::Layer& layer, const model::Dense& dense, bool first);

  memory::dims images(const model::Shape& shape) const {
    return {batch, shape.channels, shape.height, shape.width};
  }
};

void BarePrimitives::State::add_convolution(const model::Layer& layer, const model::Conv2D& conv,
                                            bool first) {
  const auto pad_h = model::padding_along(conv.padding, layer.input.height, conv.kernel.height,
                                          conv.strides.height);
  const auto pad_w =
      model::padding_along(conv.padding, layer.input.width, conv.kernel.width, conv.strides.width);
  const memory::dims strides{conv.strides.height, conv.strides.width};
  const memory::dims before{pad_h.before, pad_w.before}, after{pad_h.after, pad_w.after};
  const auto src = any(images(layer.input)), dst = any(images(layer.output));
  const auto weights =
      any({conv.filters, layer.input.channels, conv.kernel.height, conv.kernel.width});
  const auto bias = any({conv.filters});
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  const std::string& name = layer.name;

  dnnl::primitive_attr fused;  // not a copy: copies of attributes share their post-ops
  fused.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (conv.activation == model::Activation::relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    fused.set_post_ops(relu);
  }
  const dnnl::convolution_forward::primitive_desc plan(
      {dnnl::prop_kind::forward_training, direct, src, weights, bias, dst, strides, before, after},
      fused, engine);
  call(forward, plan,
       {{DNNL_ARG_SRC, tensor(name + " src", plan.src_desc())},
        {DNNL_ARG_WEIGHTS, tensor(name + " weights", plan.weights_desc())},
        {DNNL_ARG_BIAS, tensor(name + " bias", plan.bias_desc())},
        {DNNL_ARG_DST, tensor(name + " dst", plan.dst_desc())}});

  previous = plan.dst_desc();

  const dnnl::convolution_backward_weights::primitive_desc to_weights(
      {direct, src, weights, bias, dst, strides, before, after}, attributes, engine, plan);
  call(backward, to_weights,
       {{DNNL_ARG_SRC, tensor(name + " src", to_weights.src_desc())},
        {DNNL_ARG_DIFF_DST, tensor(name + " diff dst", to_weights.diff_dst_desc())},
        {DNNL_ARG_DIFF_WEIGHTS, tensor(name + " diff weights", to_weights.diff_weights_desc())},
        {DNNL_ARG_DIFF_BIAS, tensor(name + " diff bias", to_weights.diff_bias_desc())}});

  if (first) return;
  const dnnl::convolution_backward_data::primitive_desc to_data(
      {direct, src, weights, dst, strides, before, after}, attributes, engine, plan);
  call(backward, to_data,
       {{DNNL_ARG_WEIGHTS, tensor(name + " weights", to_data.weights_desc())},
        {DNNL_ARG_DIFF_DST, tensor(name + " diff dst", to_data.diff_dst_desc())},
        {DNNL_ARG_DIFF_SRC, tensor(name + " diff src", to_data.diff_src_desc())}});
}

void BarePrimitives::State::add_pooling(const model::Layer& layer, const model::Pooling2D& pool) {
  const auto pad_h =
      model::padding_along(pool.padding, layer.input.height, pool.size.height, pool.strides.height);
  const auto pad_w =
      model::padding_along(pool.padding, layer.input.width, pool.size.width, pool.strides.width);
  const memory::dims strides{pool.strides.height, pool.strides.width};
  const memory::dims window{pool.size.height, pool.size.width};
  const memory::dims before{pad_h.before, pad_w.before}, after{pad_h.after, pad_w.after};
  const auto algorithm = pool.kind == model::Pooling2D::Kind::max
                             ? dnnl::algorithm::pooling_max
                             : dnnl::algorithm::pooling_avg_exclude_padding;
  // Pooling takes what it is given, which in a step is what the convolution before it made.
  const bool follows = previous.dims() == images(layer.input);
  const auto src =
      follows ? previous : memory::desc(images(layer.input), memory::data_type::f32, Tag::nhwc);
  const std::string& name = layer.name;

  const dnnl::pooling_forward::primitive_desc plan(
      {dnnl::prop_kind::forward_training, algorithm, src, any(images(layer.output)), strides,
       window, before, after},
      attributes, engine);
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, tensor(name + " src", plan.src_desc())},
                                            {DNNL_ARG_DST, tensor(name + " dst", plan.dst_desc())}};
  const dnnl::pooling_backward::primitive_desc plan_back(
      {algorithm, src, plan.dst_desc(), strides, window, before, after}, attributes, engine, plan);
  std::unordered_map<int, memory> back{
      {DNNL_ARG_DIFF_SRC, tensor(name + " diff src", plan_back.diff_src_desc())},
      {DNNL_ARG_DIFF_DST, tensor(name + " diff dst", plan_back.diff_dst_desc())}};
  if (plan.workspace_desc().get_size() > 0) {
    memory winners(plan.workspace_desc(), engine);
    std::fill_n(static_cast<char*>(winners.get_data_handle()), winners.get_desc().get_size(), '\0');
    arguments.insert({DNNL_ARG_WORKSPACE, winners});
    back.insert({DNNL_ARG_WORKSPACE, winners});
  }
  call(forward, plan, std::move(arguments));
  call(backward, plan_back, std::move(back));
}

void BarePrimitives::State::add_dense(const model::Layer& layer, const model::Dense& dense,
                                      bool first) {
  const auto src = any({batch, layer.input.size()}), dst = any({batch, dense.units});
  const auto weights = any({dense.units, layer.input.size()}), bias = any({dense.units});
  const std::string& name = layer.name;

  const dnnl::inner_product_forward::primitive_desc plan(
      {dnnl::prop_kind::forward_training, src, weights, bias, dst}, attributes, engine);
  call(forward, plan,
       {{DNNL_ARG_SRC, tensor(name + " src", plan.src_desc())},
        {DNNL_ARG_WEIGHTS, tensor(name + " weights", plan.weights_desc())},
        {DNNL_ARG_BIAS, tensor(name + " bias", plan.bias_desc())},
        {DNNL_ARG_DST, tensor(name + " dst", plan.dst_desc())}});

  const dnnl::inner_product_backward_weights::primitive_desc to_weights({src, weights, bias, dst},
                                                                        attributes, engine, plan);
  call(backward, to_weights,
       {{DNNL_ARG_SRC, tensor(name + " src", to_weights.src_desc())},
        {DNNL_ARG_DIFF_DST, tensor(name + " diff dst", to_weights.diff_dst_desc())},
        {DNNL_ARG_DIFF_WEIGHTS, tensor(name + " diff weights", to_weights.diff_weights_desc())},
        {DNNL_ARG_DIFF_BIAS, tensor(name + " diff bias", to_weights.diff_bias_desc())}});

  if (first) return;
  const dnnl::inner_product_backward_data::primitive_desc to_data({src, weights, dst}, attributes,
                                                                  engine, plan);
  call(backward, to_data,
       {{DNNL_ARG_WEIGHTS, tensor(name + " weights", to_data.weights_desc())},
        {DNNL_ARG_DIFF_DST, tensor(name + " diff dst", to_data.diff_dst_desc())},
        {DNNL_ARG_DIFF_SRC, tensor(name + " diff src", to_data.diff_src_desc())}});
}

BarePrimitives::BarePrimitives(const model::Network& network, std::int64_t batch)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.batch = batch;
  state.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const model::Layer& layer = network.layers[i];
    if (const auto* conv = std::get_if<model::Conv2D>(&layer.kind))
      state.add_convolution(layer, *conv, i == 0);
    else if (const auto* pool = std::get_if<model::Pooling2D>(&layer.kind))
      state.add_pooling(layer, *pool);
    else if (const auto* dense = std::get_if<model::Dense>(&layer.kind))
      state.add_dense(layer, *dense, i == 0);
  }
  const auto bytes = static_cast<memory::dim>(std::max<std::size_t>(state.scratch_bytes, 1));
  const memory scratch({{bytes}, memory::data_type::u8, Tag::a}, state.engine);
  for (auto* pass : {&state.forward, &state.backward})
    for (State::Call& call : *pass) call.arguments.insert({DNNL_ARG_SCRATCHPAD, scratch});
}

BarePrimitives::~BarePrimitives() = default;

double BarePrimitives::run(std::int64_t steps) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < steps; ++step) {
    for (const State::Call& call : state_->forward)
      call.primitive.execute(state_->stream, call.arguments);
    for (const State::Call& call : std::views::reverse(state_->backward))
      call.primitive.execute(state_->stream, call.arguments);
  }
  state_->stream.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace sweetspot::bench
