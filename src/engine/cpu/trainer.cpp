#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/error.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/executor.h"
#include "engine/cpu/kernels/bf16_support.h"
#include "engine/cpu/optimize.h"
#include "engine/cpu/plan.h"
#include "engine/cpu/squared_update.h"
#include "engine/gradient_norms.h"
#include "model/initialize.h"

namespace sweetspot::engine::cpu {
namespace {

class CpuTrainer final : public Trainer {
 public:
  CpuTrainer(const model::Network& network, const TrainerOptions& options)
      : network_(network),
        options_(options),
        layout_(weight_layout(network)),
        penalties_(layout_),
        team_(options.threads) {
    const core::MemoryByUse memory = trainer_memory(layout_, options.optimizer);
    weights_ = core::Buffer(memory[core::Use::weights], core::Use::weights);
    gradients_ = core::Buffer(memory[core::Use::gradients], core::Use::gradients);
    state_ = core::Buffer(memory[core::Use::optimizer], core::Use::optimizer);
    std::vector<float> values;
    for (std::uint32_t i = 0; i < layout_.variables().size(); ++i) {
      const PackedVariable& variable = layout_.variables()[i];
      values.resize(static_cast<std::size_t>(variable.parameter.size()));
      model::initialize(variable.parameter, i, options.seed, values);
      pack(variable, values, weights_.as<float>());
    }
    if (options.ranks.group)
      sums_.emplace(options.ranks, gradients_.as<float>(), layout_.trainable_floats());
  }

  void prepare(std::int64_t micro_batch) override {
    if (!executors_.contains(micro_batch))
      executors_.emplace(
          micro_batch,
          Executor(compile(network_, options_.loss, micro_batch, true, options_.precision), team_));
  }
  void release(std::int64_t micro_batch) override { executors_.erase(micro_batch); }

  StepResult step(const BatchView& batch, std::int64_t micro_batch) override {
    const OptimizerUpdate update(options_.optimizer, ++steps_, kernels(), penalties_,
                                 weights_.as<float>(), state_.as<float>(),
                                 layout_.trainable_floats());
    if (!options_.gradient_norms) return train(batch, micro_batch, &update);
    return measured_step(batch, micro_batch, update);
  }
  StepProfile profile(const BatchView& batch, std::int64_t micro_batch) override {
    prepare(micro_batch);
    StepProfile profile;
    profile.operations = operations_of(executors_.at(micro_batch).program());
    profile.operations.push_back(
        {"weights", fmt::format("{} partial gradients and flat update", kernels().name)});
    ThreadProfile thread;
    thread.operations.resize(profile.operations.size());
    profile.threads.assign(static_cast<std::size_t>(team_.size()), thread);
    const OptimizerUpdate update(options_.optimizer, ++steps_, kernels(), penalties_,
                                 weights_.as<float>(), state_.as<float>(),
                                 layout_.trainable_floats());
    for_passes(executor_of(micro_batch), batch, micro_batch, &update, profile.result,
               [&](Executor& executor, Pass& pass, bool first, Executor::Last last) {
                 executor.profile(pass, first, last, &update, sums(), profile);
               });
    return profile;
  }
  StepResult accumulate(const BatchView& batch, std::int64_t micro_batch) override {
    const StepResult result = train(batch, micro_batch, nullptr);
    add_penalty_gradients();
    return result;
  }

  StepResult evaluate(const BatchView& batch) override {
    if (!evaluator_)
      evaluator_.emplace(
          compile(network_, options_.loss, evaluation_batch, false, options_.precision), team_);
    StepResult sum;
    for (std::int64_t first = 0; first < batch.count; first += evaluation_batch) {
      Pass pass = pass_of(*evaluator_, batch, first, evaluation_batch);
      evaluator_->evaluate(pass);
      add(sum, evaluator_->result(pass));
    }
    sum.loss /= static_cast<double>(batch.count);
    sum.loss += penalties_.loss(weights_.as<float>(), team_);
    return sum;
  }

  StepResult evaluate_gradients(const BatchView& batch) override {
    if (!differentiator_)
      differentiator_.emplace(compile(without_randomness(network_), options_.loss, evaluation_batch,
                                      true, options_.precision),
                              team_);
    StepResult sum;
    for_passes(*differentiator_, batch, evaluation_batch, nullptr, sum,
               [&](Executor& executor, Pass& pass, bool first, Executor::Last last) {
                 pass.moving_statistics = true;
                 executor.train(pass, first, last, nullptr, nullptr, sum);
               });
    add_penalty_gradients();
    return sum;
  }

  std::vector<Variable> variables() const override {
    std::vector<Variable> variables;
    for (const PackedVariable& variable : layout_.variables())
      variables.push_back({variable.parameter, unpack(variable, weights_.as<float>())});
    return variables;
  }

  std::vector<Variable> gradients() const override {
    std::vector<Variable> gradients;
    for (const PackedVariable& variable : layout_.variables())
      if (variable.parameter.trainable)
        gradients.push_back({variable.parameter, unpack(variable, gradients_.as<float>())});
    return gradients;
  }

  double squared_gradient_norm() const override {
    return squared_norm(gradients_.as<float>(), layout_.trainable_floats());
  }

  void assign(std::span<const Variable> variables) override {
    for (const Variable& given : variables) {
      const auto found = std::ranges::find_if(layout_.variables(), [&](const PackedVariable& mine) {
        return mine.parameter.name == given.parameter.name &&
               mine.parameter.shape == given.parameter.shape;
      });
      if (found == layout_.variables().end())
        throw core::InputError(fmt::format(
            "model {} has no variable {} of that shape; use weights saved from the same model",
            network_.name, given.parameter.name));
      pack(*found, given.values, weights_.as<float>());
    }
    ++weights_version_;
  }

  Checkpoint checkpoint() const override {
    const auto copied = [](const core::Buffer& buffer) {
      return std::vector<float>(buffer.as<float>(),
                                buffer.as<float>() + buffer.size() / sizeof(float));
    };
    return {copied(weights_), copied(state_), steps_};
  }
  void restore(const Checkpoint& checkpoint) override {
    std::ranges::copy(checkpoint.weights, weights_.as<float>());
    std::ranges::copy(checkpoint.optimizer_state, state_.as<float>());
    steps_ = checkpoint.steps, norms_ = {};
    ++weights_version_;
  }

  void average_statistics(collective::Group& group) override {
    const std::span statistics(weights_.as<float>() + layout_.trainable_floats(),
                               weights_.as<float>() + layout_.floats());
    if (statistics.empty()) return;
    group.all_reduce(statistics);
    for (float& value : statistics) value /= static_cast<float>(group.size());
  }
  std::span<float> trainable_weights() override {
    exposed_ = true;
    return {weights_.as<float>(), static_cast<std::size_t>(layout_.trainable_floats())};
  }

  void set_learning_rate(double learning_rate) override {
    options_.optimizer.learning_rate = learning_rate;
  }
  std::uint32_t steps_done() const override { return steps_; }

 private:
  // There are no per-thread gradients: a dense layer's covers the whole micro-batch and is computed
  // while it is applied. So the small gradient takes a separate pass, and the big one is measured
  // while the update goes through it.
  StepResult measured_step(const BatchView& batch, std::int64_t micro_batch,
                           const OptimizerUpdate& update) {
    const auto small = norms_.wants(batch.batch(), micro_batch);
    if (!small) return train(batch, micro_batch, &update);
    std::optional<double> small_squared;
    if (*small > 0) small_squared = mean_over_ranks(squared_norm_of(batch, *small, micro_batch));
    const SquaredUpdate squared(update);
    StepResult result = train(batch, micro_batch, &squared);
    result.gradient_norms = norms_.add(small_squared, squared.sum());
    return result;
  }

  // The squared norm of the gradient over the batch's first samples.
  double squared_norm_of(const BatchView& batch, std::int64_t samples, std::int64_t micro_batch) {
    BatchView front = batch;
    front.count = samples, front.whole.reset();
    StepResult unused;
    for_passes(executor_of(micro_batch), front, micro_batch, nullptr, unused,
               [&](Executor& executor, Pass& pass, bool first, Executor::Last last) {
                 pass.keeps_averages = true;
                 executor.train(pass, first, last, nullptr, nullptr, unused);
               });
    add_penalty_gradients();
    return squared_gradient_norm();
  }

  // Each has taken its own samples.
  double mean_over_ranks(double value) const {
    collective::Group* const group = options_.ranks.group;
    if (!group) return value;
    group->sum({&value, 1});
    return value / group->size();
  }

  void add_penalty_gradients() {
    penalties_.add_gradients(weights_.as<float>(), 0, layout_.trainable_floats(),
                             gradients_.as<float>());
  }

  StepResult train(const BatchView& batch, std::int64_t micro_batch, const Update* update) {
    StepResult sum;
    for_passes(executor_of(micro_batch), batch, micro_batch, update, sum,
               [&](Executor& executor, Pass& pass, bool first, Executor::Last last) {
                 executor.train(pass, first, last, update, sums(), sum);
               });
    return sum;
  }

  GradientSums* sums() { return sums_ ? &*sums_ : nullptr; }

  Executor& executor_of(std::int64_t micro_batch) {
    const auto found = executors_.find(micro_batch);
    if (found != executors_.end()) return found->second;
    prepare(micro_batch);
    return executors_.at(micro_batch);
  }

  // Calls run(executor, pass, first, last) for each micro-batch and sums the results.
  template <class Run>
  void for_passes(Executor& executor, const BatchView& batch, std::int64_t micro_batch,
                  const Update* update, StepResult& sum, Run run) {
    const double penalty = penalties_.loss(weights_.as<float>(), team_);
    for (std::int64_t first = 0; first < batch.count; first += micro_batch) {
      Pass pass = pass_of(executor, batch, first, micro_batch);
      const bool last = first + micro_batch >= batch.count;
      run(executor, pass, first == 0,
          !last    ? Executor::Last::no
          : update ? Executor::Last::update
                   : Executor::Last::gather);
      add(sum, executor.result(pass));
    }
    if (update) ++weights_version_;
    if (update && sums_) {
      if (batch.count == 0) {
        Pass nothing = pass_of(executor, batch, 0, micro_batch);
        executor.update_only(nothing, *update, *sums_);
      }
      sums_->finish(sum);
    }
    sum.loss /= static_cast<double>(batch.batch());
    sum.loss += penalty;
  }

  Pass pass_of(const Executor& executor, const BatchView& batch, std::int64_t first,
               std::int64_t micro_batch) {
    Pass pass = executor.pass();
    pass.weights = weights_.as<float>(), pass.gradients = gradients_.as<float>();
    pass.weights_version = exposed_ ? ++weights_version_ : weights_version_;
    pass.inputs = batch.inputs + first * network_.input.size();
    pass.labels = batch.labels ? batch.labels + first : nullptr;
    pass.targets = batch.targets ? batch.targets + first * network_.output().size() : nullptr;
    pass.first = batch.first + first, pass.count = std::min(micro_batch, batch.count - first),
    pass.batch = batch.batch();
    pass.step = steps_, pass.seed = options_.seed;
    return pass;
  }

  static void add(StepResult& sum, const StepResult& part) {
    sum.loss += part.loss, sum.correct += part.correct;
  }

  model::Network network_;
  TrainerOptions options_;
  WeightLayout layout_;
  Penalties penalties_;
  Team team_;
  core::Buffer weights_, gradients_, state_;
  std::uint64_t weights_version_ = 0;
  bool exposed_ = false;              // others write the weights
  std::optional<GradientSums> sums_;  // over the ranks
  std::map<std::int64_t, Executor> executors_;
  std::optional<Executor> evaluator_, differentiator_;
  std::uint32_t steps_ = 0;
  NormWindow norms_;
};

}  // namespace

std::unique_ptr<Trainer> make_trainer(const model::Network& network,
                                      const TrainerOptions& options) {
  if (options.precision == Precision::bf16 && !bf16_support().kernels)
    throw core::InputError(
        fmt::format("the CPU cannot train in bf16: {}; use fp32", bf16_support().reason));
  if (options.precision != Precision::bf16 && options.precision != Precision::fp32)
    throw core::InputError(fmt::format("the CPU trains in fp32 or bf16 and not in {}; use fp32",
                                       name(options.precision)));
  return std::make_unique<CpuTrainer>(network, options);
}

Backend backend() {
  const std::string isa = kernels().name;
  const Bf16Support& bf16 = bf16_support();
  return {"sweetspot kernels", isa,
          isa == "generic" ? "this CPU has none of AVX-512, AVX2 with FMA and NEON"
                           : "the widest that this CPU runs; SWEETSPOT_ISA overrides it",
          bf16.kernels ? bf16.kernels->name : "", bf16.reason};
}

}  // namespace sweetspot::engine::cpu
