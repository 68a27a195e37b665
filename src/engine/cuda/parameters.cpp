#include "engine/cuda/parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/cuda/compiled_plan.h"
#include "engine/cuda/kernels/launch.h"
#include "model/initialize.h"

namespace sweetspot::engine::cuda {
namespace {

OptimizerRule rule_of(const Optimizer& o) {
  OptimizerRule rule{};
  rule.kind = o.kind == Optimizer::Kind::sgd        ? OptimizerRule::Kind::sgd
              : o.kind == Optimizer::Kind::momentum ? OptimizerRule::Kind::momentum
              : o.kind == Optimizer::Kind::nesterov ? OptimizerRule::Kind::nesterov
                                                    : OptimizerRule::Kind::adam;
  rule.momentum = static_cast<float>(o.momentum);
  rule.beta1 = static_cast<float>(o.beta1), rule.beta2 = static_cast<float>(o.beta2);
  rule.epsilon = static_cast<float>(o.epsilon);
  rule.decay = o.kind == Optimizer::Kind::adamw ? static_cast<float>(o.weight_decay) : 0.f;
  return rule;
}

void pack(const PlacedVariable& v, std::span<const float> keras, std::vector<float>& to) {
  for (std::size_t i = 0; i < keras.size(); ++i)
    to[static_cast<std::size_t>(v.index(static_cast<std::int64_t>(i)))] = keras[i];
}

std::vector<float> unpack(const PlacedVariable& v, const std::vector<float>& from, float scale) {
  std::vector<float> keras(static_cast<std::size_t>(v.parameter.size()));
  for (std::size_t i = 0; i < keras.size(); ++i)
    keras[i] = from[static_cast<std::size_t>(v.index(static_cast<std::int64_t>(i)))] * scale;
  return keras;
}

}  // namespace

Parameters::Parameters(const model::Network& network, const Options& options, cudaStream_t stream)
    : network_(network),
      options_(options),
      stream_(stream),
      layout_(weight_layout(network, live_extents(network), math_of(options.precision))) {
  const core::MemoryByUse memory = trainer_memory(layout_, options);
  const auto make = [&](core::Use use) { return DeviceBuffer(memory[use], use); };
  const core::Bytes operands = operand_bytes(layout_, options.precision);
  weights_ = DeviceBuffer(memory[core::Use::weights] - operands, core::Use::weights);
  operands_ = DeviceBuffer(operands, core::Use::weights);
  gradients_ = make(core::Use::gradients);
  optimizer_ = make(core::Use::optimizer), workspace_ = make(core::Use::workspace);
  StepState begin{};
  begin.learning_rate = static_cast<float>(options.trainer.optimizer.learning_rate);
  begin.loss_scale = scaled() ? 0x1p16f : 1.f;  // PyTorch's initial value
  for (StepState* to : {state(), evaluation_state()})
    check(cudaMemcpy(to, &begin, sizeof begin, cudaMemcpyHostToDevice), "its state");
  std::vector<float> host(static_cast<std::size_t>(layout_.floats), 0.f), values;
  for (std::uint32_t i = 0; i < layout_.variables.size(); ++i) {
    const PlacedVariable& v = layout_.variables[i];
    values.resize(static_cast<std::size_t>(v.parameter.size()));
    model::initialize(v.parameter, i, options.trainer.seed, values);
    pack(v, values, host);
  }
  put_weights(host);
}

void Parameters::fill(Update& u) const {
  const int states = state_floats(options_.trainer.optimizer.kind);
  u.weights = weights(), u.gradients = gradients_.as<float>();
  u.operands = operands_.data(), u.math = math_of(options_.precision);
  u.mean = states > 0 ? optimizer_.as<float>() : nullptr;
  u.square = states > 1 ? optimizer_.as<float>() + layout_.trainable_floats : nullptr;
  u.rule = rule_of(options_.trainer.optimizer);
  u.state = state(), u.history = history(), u.scaled = scaled();
}

StepRecord* Parameters::evaluation_record() const { return history() + history_steps; }

RankSumsRecord* Parameters::rank_record() const {
  return reinterpret_cast<RankSumsRecord*>(evaluation_record() + 1);
}

std::vector<Variable> Parameters::variables() const {
  const std::vector<float> host = get(weights_, "reading the weights");
  std::vector<Variable> variables;
  for (const PlacedVariable& v : layout_.variables)
    variables.push_back({v.parameter, unpack(v, host, 1)});
  return variables;
}

std::vector<Variable> Parameters::gradients() const {
  const std::vector<float> host = get(gradients_, "reading the gradients");
  const float down = 1 / read_state().loss_scale;
  std::vector<Variable> gradients;
  for (const PlacedVariable& v : layout_.variables)
    if (v.parameter.trainable) gradients.push_back({v.parameter, unpack(v, host, down)});
  return gradients;
}

void Parameters::assign(std::span<const Variable> variables) {
  std::vector<float> host = get(weights_, "reading the weights");
  for (const Variable& given : variables) {
    const auto found = std::ranges::find_if(layout_.variables, [&](const PlacedVariable& mine) {
      return mine.parameter.name == given.parameter.name &&
             mine.parameter.shape == given.parameter.shape;
    });
    if (found == layout_.variables.end())
      throw core::InputError(fmt::format(
          "model {} has no variable {} of that shape; use weights saved from the same model",
          network_.name, given.parameter.name));
    pack(*found, given.values, host);
  }
  put_weights(host);
}

void Parameters::set_learning_rate(double learning_rate) {
  const auto rate = static_cast<float>(learning_rate);
  check(
      cudaMemcpyAsync(&state()->learning_rate, &rate, sizeof rate, cudaMemcpyHostToDevice, stream_),
      "setting the learning rate");
  check(cudaStreamSynchronize(stream_), "setting the learning rate");
}

core::MemoryByUse Parameters::memory() const {
  core::MemoryByUse memory;
  for (const DeviceBuffer* b : {&weights_, &operands_, &gradients_, &optimizer_, &workspace_})
    memory[b->use()] += b->size();
  return memory;
}

std::vector<float> Parameters::get(const DeviceBuffer& buffer, const char* doing) const {
  check(cudaStreamSynchronize(stream_), doing);
  std::vector<float> host(buffer.size() / sizeof(float));
  check(cudaMemcpy(host.data(), buffer.data(), buffer.size(), cudaMemcpyDeviceToHost), doing);
  return host;
}

void Parameters::put_weights(const std::vector<float>& host) const {
  check(cudaStreamSynchronize(stream_), "the last steps");
  check(cudaMemcpy(weights_.data(), host.data(), weights_.size(), cudaMemcpyHostToDevice),
        "writing the weights");
  check(cudaStreamSynchronize(cudaStreamLegacy), "writing the weights");
  if (operands_.size() == 0) return;
  for (const PlacedVariable& v : layout_.variables)
    if (v.operands)
      check(launch_rounding({weights() + v.offset, operands_.data(), *v.operands, v.floats,
                             math_of(options_.precision)},
                            stream_),
            "rounding the weights");
  check(cudaStreamSynchronize(stream_), "rounding the weights");
}

}  // namespace sweetspot::engine::cuda
