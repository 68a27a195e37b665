#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "core/error.h"
#include "engine/cpu/optimize.h"
#include "engine/cuda/executor.h"
#include "model/initialize.h"

namespace sweetspot::engine::cuda {
namespace {

// Steps of one graph launch: long enough that the host's launches hide behind the device's work.
constexpr std::int64_t steps_per_graph = 20;

Math math_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return Math::fp32;
    case Precision::tf32:
      return Math::tf32;
    case Precision::bf16:
      return Math::bf16;
    case Precision::fp16:
      return Math::fp16;
  }
  return Math::fp32;
}

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

// One split of the data set on the device.
struct ResidentSplit {
  DeviceBuffer samples, answers, order;
  std::int64_t count = 0;
  Source source;
};

// Page-locked host memory, which copies to and from without waiting.
template <class T>
class Pinned {
 public:
  T* data() const { return data_; }
  void resize(std::size_t count) {
    if (count <= count_) return;
    cudaFreeHost(data_);
    data_ = nullptr, count_ = 0;
    check(cudaMallocHost(&data_, count * sizeof(T)), "page-locked memory");
    count_ = count;
  }
  ~Pinned() { cudaFreeHost(data_); }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

struct StreamOwner {
  cudaStream_t stream = nullptr;
  StreamOwner() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "its stream"); }
  ~StreamOwner() { cudaStreamDestroy(stream); }
};

// Points of time on the stream.
class Events {
 public:
  explicit Events(cudaStream_t stream) : stream_(stream) {}
  ~Events() {
    for (cudaEvent_t e : events_) cudaEventDestroy(e);
  }
  void start() { used_ = 0; }
  std::size_t mark() {
    if (used_ == events_.size()) {
      events_.emplace_back();
      check(cudaEventCreate(&events_.back()), "a clock");
    }
    check(cudaEventRecord(events_[used_], stream_), "its clock");
    return used_++;
  }
  core::Seconds between(std::size_t a, std::size_t b) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[a], events_[b]), "its clock");
    return core::Seconds(milliseconds * 1e-3);
  }

 private:
  cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

const Options& usable(const Options& options) {
  const Availability found = available();
  if (std::ranges::none_of(found.devices,
                           [&](const Device& d) { return d.index == options.device; }))
    throw core::InputError(found.reason.empty()
                               ? fmt::format("there is no GPU {}; the last one is {}",
                                             options.device, found.devices.back().index)
                               : found.reason);
  check(cudaSetDevice(options.device), "choosing the device");
  return options;
}

class CudaTrainer final : public ResidentTrainer {
 public:
  CudaTrainer(const model::Network& network, const Options& options)
      : network_(network),
        options_(usable(options)),
        layout_(weight_layout(network, cpu::live_extents(network))),
        events_(stream_.stream) {
    for (cudaEvent_t& event : copied_)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
    const core::MemoryByUse memory = trainer_memory(layout_, options.trainer.optimizer);
    const auto make = [&](core::Use use) { return DeviceBuffer(memory[use], use); };
    weights_ = make(core::Use::weights), gradients_ = make(core::Use::gradients);
    optimizer_ = make(core::Use::optimizer), workspace_ = make(core::Use::workspace);
    StepState state{};
    state.learning_rate = static_cast<float>(options.trainer.optimizer.learning_rate);
    state.loss_scale = scaled() ? 0x1p16f : 1.f;  // as PyTorch starts
    put(state_at(0), state), put(state_at(1), state);
    std::vector<float> host(static_cast<std::size_t>(layout_.floats), 0.f), values;
    for (std::uint32_t i = 0; i < layout_.variables.size(); ++i) {
      const PlacedVariable& v = layout_.variables[i];
      values.resize(static_cast<std::size_t>(v.parameter.size()));
      model::initialize(v.parameter, i, options.trainer.seed, values);
      pack(v, values, host);
    }
    put_weights(host);
  }
  ~CudaTrainer() override {
    cudaStreamSynchronize(stream_.stream);
    for (cudaEvent_t event : copied_) cudaEventDestroy(event);
  }

  void prepare(std::int64_t micro_batch) override {
    use();
    if (!executors_.contains(micro_batch))
      executors_.emplace(
          micro_batch,
          Executor(compile(network_, options_.trainer.loss, micro_batch, true), stream_.stream));
  }
  void release(std::int64_t micro_batch) override {
    wait("the last steps");
    executors_.erase(micro_batch);
  }

  StepResult step(const BatchView& batch, std::int64_t micro_batch) override {
    StepResult result = train(batch, micro_batch, true);
    ++steps_;
    return result;
  }
  StepResult accumulate(const BatchView& batch, std::int64_t micro_batch) override {
    return train(batch, micro_batch, false);
  }
  StepProfile profile(const BatchView& batch, std::int64_t micro_batch) override;
  StepResult evaluate(const BatchView& batch) override {
    return evaluate(batch.count, [&](const Executor& executor, std::int64_t first,
                                     std::int64_t count) {
      return executor.copy_in(batch, first, count, network_.input.size(), network_.output().size());
    });
  }

  std::vector<Variable> variables() const override {
    const std::vector<float> host = get(weights_, "reading the weights");
    std::vector<Variable> variables;
    for (const PlacedVariable& v : layout_.variables)
      variables.push_back({v.parameter, unpack(v, host, 1)});
    return variables;
  }
  std::vector<Variable> gradients() const override {
    const std::vector<float> host = get(gradients_, "reading the gradients");
    const float down = 1 / state().loss_scale;
    std::vector<Variable> gradients;
    for (const PlacedVariable& v : layout_.variables)
      if (v.parameter.trainable) gradients.push_back({v.parameter, unpack(v, host, down)});
    return gradients;
  }
  void assign(std::span<const Variable> variables) override {
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

  void set_learning_rate(double learning_rate) override {
    use();
    const auto rate = static_cast<float>(learning_rate);
    check(cudaMemcpyAsync(&state_at(0)->learning_rate, &rate, sizeof rate, cudaMemcpyHostToDevice,
                          stream_.stream),
          "setting the learning rate");
    wait("setting the learning rate");
  }
  std::uint32_t steps_done() const override { return steps_; }

  void upload(Split split, const ResidentSamples& samples) override;
  void start(std::span<const std::uint32_t> order, std::int64_t batch,
             std::int64_t micro_batch) override;
  std::vector<StepResult> finish() override {
    collect();
    return std::exchange(results_, {});
  }
  StepResult evaluate_resident() override {
    const ResidentSplit& test = resident(Split::test);
    return evaluate(test.count, [&](const Executor&, std::int64_t first, std::int64_t) {
      Source source = test.source;
      source.first = static_cast<std::uint32_t>(first);
      return source;
    });
  }
  double loss_scale() const override { return state().loss_scale; }
  std::int64_t skipped_updates() const override { return state().skipped; }

  core::MemoryByUse memory() const override {
    core::MemoryByUse memory;
    const auto add = [&](const DeviceBuffer& b) { memory[b.use()] += b.size(); };
    for (const DeviceBuffer* b : {&weights_, &gradients_, &optimizer_, &workspace_}) add(*b);
    for (const ResidentSplit& split : splits_)
      for (const DeviceBuffer* b : {&split.samples, &split.answers, &split.order}) add(*b);
    for (const auto& [micro_batch, executor] : executors_) memory += executor.memory();
    if (evaluator_) memory += evaluator_->memory();
    return memory;
  }

 private:
  bool scaled() const { return options_.precision == Precision::fp16; }
  void use() const { check(cudaSetDevice(options_.device), "choosing the device"); }
  void wait(const char* doing) const {
    use();
    check(cudaStreamSynchronize(stream_.stream), doing);
  }

  StepState* state_at(int i) const { return workspace_.as<StepState>() + i; }
  StepRecord* history() const { return workspace_.as<StepRecord>(2 * sizeof(StepState)); }
  StepRecord* evaluation_record() const { return history() + history_steps; }
  template <class T>
  void put(T* to, const T& value) const {
    check(cudaMemcpy(to, &value, sizeof value, cudaMemcpyHostToDevice), "its state");
  }
  template <class T>
  T fetch(const T* from) const {
    T value;
    check(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, stream_.stream),
          "reading its state");
    wait("a step");
    return value;
  }
  StepState state() const { return use(), fetch(state_at(0)); }

  std::vector<float> get(const DeviceBuffer& buffer, const char* doing) const {
    wait(doing);
    std::vector<float> host(buffer.size() / sizeof(float));
    check(cudaMemcpy(host.data(), buffer.data(), buffer.size(), cudaMemcpyDeviceToHost), doing);
    return host;
  }
  void put_weights(const std::vector<float>& host) const {
    wait("the last steps");
    check(cudaMemcpy(weights_.data(), host.data(), weights_.size(), cudaMemcpyHostToDevice),
          "writing the weights");
  }
  static void pack(const PlacedVariable& v, std::span<const float> keras, std::vector<float>& to) {
    for (std::size_t i = 0; i < keras.size(); ++i)
      to[static_cast<std::size_t>(v.index(static_cast<std::int64_t>(i)))] = keras[i];
  }
  static std::vector<float> unpack(const PlacedVariable& v, const std::vector<float>& from,
                                   float scale) {
    std::vector<float> keras(static_cast<std::size_t>(v.parameter.size()));
    for (std::size_t i = 0; i < keras.size(); ++i)
      keras[i] = from[static_cast<std::size_t>(v.index(static_cast<std::int64_t>(i)))] * scale;
    return keras;
  }

  const ResidentSplit& resident(Split split) const {
    const ResidentSplit& found = splits_[static_cast<std::size_t>(split)];
    if (found.count == 0)
      throw core::InputError(split == Split::train ? "no training samples were uploaded"
                                                   : "no test samples were uploaded");
    return found;
  }

  const Executor& executor_of(std::int64_t micro_batch) {
    prepare(micro_batch);
    return executors_.at(micro_batch);
  }
  Pass pass_of(const Executor& executor, const Source& source, std::int64_t first,
               std::int64_t count, std::int64_t batch) const {
    Pass pass = executor.pass();
    pass.weights = weights_.as<float>(), pass.state = state_at(0);
    pass.source = source, pass.source.state = state_at(0);
    pass.first = static_cast<int>(first), pass.count = static_cast<int>(count);
    pass.batch = static_cast<float>(batch);
    pass.seed = options_.trainer.seed, pass.math = math_of(options_.precision);
    pass.beta1 = options_.trainer.optimizer.beta1, pass.beta2 = options_.trainer.optimizer.beta2;
    return pass;
  }
  Update update_of(const Executor& executor) const {
    Update u = executor.update();
    const int states = cpu::state_floats(options_.trainer.optimizer.kind);
    u.weights = weights_.as<float>(), u.gradients = gradients_.as<float>();
    u.mean = states > 0 ? optimizer_.as<float>() : nullptr;
    u.square = states > 1 ? optimizer_.as<float>() + layout_.trainable_floats : nullptr;
    u.rule = rule_of(options_.trainer.optimizer);
    u.state = state_at(0), u.history = history(), u.scaled = scaled();
    return u;
  }

  // What follows the backward pass of micro-batch [first, first + count) of a batch: into the
  // weights at once if that is the whole batch, into the sum of gradients otherwise.
  void settle(const Executor& executor, std::int64_t first, std::int64_t count, std::int64_t batch,
              bool updates) const {
    Update u = update_of(executor);
    u.samples = static_cast<int>(count), u.advance = static_cast<std::uint32_t>(batch);
    const bool whole = count == batch, last = first + count == batch;
    if (whole && updates && !scaled()) {
      check(launch_update(u, stream_.stream), "the update");
      return;
    }
    check(launch_sum_partials(u, first > 0, stream_.stream), "summing gradients");
    check(launch_record(u, first > 0, stream_.stream), "the loss");
    if (!last || !updates) return;
    u.samples = 0, u.from_gradients = true;
    check(launch_update(u, stream_.stream), "the update");
  }

  // Calls run(pass, first, count) for each micro-batch.
  template <class Run>
  static void for_passes(std::int64_t batch, std::int64_t micro_batch, Run run) {
    for (std::int64_t first = 0; first < batch; first += micro_batch)
      run(first, std::min(micro_batch, batch - first));
  }

  StepResult train(const BatchView& batch, std::int64_t micro_batch, bool updates) {
    collect();
    const Executor& executor = executor_of(micro_batch);
    StepResult result;
    reset_slot();
    for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
      const Source source =
          executor.copy_in(batch, first, count, network_.input.size(), network_.output().size());
      Pass pass = pass_of(executor, source, first, count, batch.count);
      pass.ahead = updates ? 1 : 0;
      events_.start();
      events_.mark();
      executor.forward(pass);
      events_.mark();
      executor.backward(pass);
      events_.mark();
      settle(executor, first, count, batch.count, updates);
      events_.mark();
      wait("a step");
      result.forward += events_.between(0, 1), result.backward += events_.between(1, 2);
      result.update += events_.between(2, 3);
    });
    add_record(result, fetch(history()), batch.count);
    return result;
  }

  void reset_slot() const {
    check(cudaMemsetAsync(&state_at(0)->slot, 0, sizeof(std::uint32_t), stream_.stream), "a step");
  }
  static void add_record(StepResult& result, const StepRecord& record, std::int64_t samples) {
    result.loss = record.loss / static_cast<double>(samples), result.correct = record.correct;
  }

  template <class Take>
  StepResult evaluate(std::int64_t samples, Take take) {
    use();
    if (!evaluator_)
      evaluator_.emplace(compile(network_, options_.trainer.loss, evaluation_batch, false),
                         stream_.stream);
    for_passes(samples, evaluation_batch, [&](std::int64_t first, std::int64_t count) {
      Pass pass = pass_of(*evaluator_, take(*evaluator_, first, count), first, count, samples);
      evaluator_->forward(pass);
      Update u = evaluator_->update();
      u.state = state_at(1), u.history = evaluation_record(), u.samples = static_cast<int>(count);
      check(launch_record(u, first > 0, stream_.stream), "the loss");
    });
    StepResult result;
    add_record(result, fetch(evaluation_record()), samples);
    return result;
  }

  // One step over the resident training samples, wherever the state's cursor is.
  void resident_step(const Executor& executor, const ResidentSplit& train,
                     std::int64_t batch) const {
    for_passes(batch, executor.program().micro_batch, [&](std::int64_t first, std::int64_t count) {
      Source source = train.source;
      source.first = static_cast<std::uint32_t>(first);
      Pass pass = pass_of(executor, source, first, count, batch);
      executor.forward(pass);
      executor.backward(pass);
      settle(executor, first, count, batch, true);
    });
  }
  cudaGraphExec_t graph_of(Executor& executor, const ResidentSplit& train, std::int64_t batch,
                           std::int64_t steps) const;
  // Waits, and takes over the records of what was started.
  void collect();

  model::Network network_;
  Options options_;
  WeightLayout layout_;
  StreamOwner stream_;
  Events events_;
  DeviceBuffer weights_, gradients_, optimizer_, workspace_;
  ResidentSplit splits_[2];
  std::map<std::int64_t, Executor> executors_;
  std::optional<Executor> evaluator_;
  std::uint32_t steps_ = 0;

  Pinned<std::uint32_t> orders_[2];  // in turns, since the copy of the last one may not be done
  cudaEvent_t copied_[2] = {};
  int turn_ = 0;
  std::vector<std::int64_t> queued_;  // samples of each step started and not yet collected
  std::vector<StepResult> results_;
};

StepProfile CudaTrainer::profile(const BatchView& batch, std::int64_t micro_batch) {
  collect();
  const Executor& executor = executor_of(micro_batch);
  const Program& program = executor.program();
  StepProfile profile;
  profile.operations = operations_of(program, options_.precision);
  profile.operations.push_back({"weights", "cuda partial gradients and flat update"});
  ThreadProfile device;  // the device is one worker
  device.operations.resize(profile.operations.size());
  reset_slot();
  for_passes(batch.count, micro_batch, [&](std::int64_t first, std::int64_t count) {
    const Source source =
        executor.copy_in(batch, first, count, network_.input.size(), network_.output().size());
    Pass pass = pass_of(executor, source, first, count, batch.count);
    events_.start();
    std::size_t at = events_.mark();
    const std::size_t begin = at;
    for (const auto& op : program.ops) op->forward(pass), events_.mark();
    const std::size_t turned = at + program.ops.size();
    for (std::size_t i = program.ops.size(); i-- > program.first_trainable;)
      program.ops[i]->backward(pass), events_.mark();
    pass.flush();
    const std::size_t returned = events_.mark();
    settle(executor, first, count, batch.count, true);
    const std::size_t end = events_.mark();
    wait("a step");
    for (auto& op : device.operations)
      if (&op != &device.operations.back()) op.forward += events_.between(at, at + 1), ++at;
    for (std::size_t i = program.ops.size(); i-- > program.first_trainable;)
      device.operations[i].backward += events_.between(at, at + 1), ++at;
    device.operations.back().update += events_.between(returned, end);
    profile.result.forward += events_.between(begin, turned);
    profile.result.backward += events_.between(turned, returned);
    profile.result.update += events_.between(returned, end);
  });
  add_record(profile.result, fetch(history()), batch.count);
  profile.threads.push_back(std::move(device));
  ++steps_;
  return profile;
}

void CudaTrainer::upload(Split split, const ResidentSamples& samples) {
  collect();
  for (auto& [micro_batch, executor] : executors_) executor.graphs.clear();
  ResidentSplit& to = splits_[static_cast<std::size_t>(split)];
  to = ResidentSplit();
  const auto copy = [](auto from) {
    DeviceBuffer buffer(from.size_bytes(), core::Use::input);
    check(cudaMemcpy(buffer.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
          "uploading the data set");
    return buffer;
  };
  to.count = samples.count;
  to.samples = samples.bytes.empty() ? copy(samples.floats) : copy(samples.bytes);
  to.answers = samples.labels.empty() ? copy(samples.targets) : copy(samples.labels);
  if (samples.bytes.empty())
    to.source.floats = to.samples.as<float>();
  else
    to.source.bytes = to.samples.as<std::uint8_t>();
  if (samples.labels.empty())
    to.source.targets = to.answers.as<float>();
  else
    to.source.labels = to.answers.as<std::int32_t>();
  if (split != Split::train) return;
  to.order = DeviceBuffer(static_cast<core::Bytes>(samples.count) * sizeof(std::uint32_t),
                          core::Use::input);
  to.source.order = to.order.as<std::uint32_t>();
}

cudaGraphExec_t CudaTrainer::graph_of(Executor& executor, const ResidentSplit& train,
                                      std::int64_t batch, std::int64_t steps) const {
  Graph& graph = executor.graphs[{batch, steps}];
  if (graph) return graph.get();
  check(cudaStreamBeginCapture(stream_.stream, cudaStreamCaptureModeThreadLocal), "its graph");
  cudaGraph_t captured = nullptr;
  try {
    for (std::int64_t i = 0; i < steps; ++i) resident_step(executor, train, batch);
  } catch (...) {
    cudaStreamEndCapture(stream_.stream, &captured);
    cudaGraphDestroy(captured);
    throw;
  }
  check(cudaStreamEndCapture(stream_.stream, &captured), "its graph");
  cudaGraphExec_t made = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&made, captured, 0);
  cudaGraphDestroy(captured);
  check(error, "its graph");
  graph.reset(made);
  return made;
}

void CudaTrainer::start(std::span<const std::uint32_t> order, std::int64_t batch,
                        std::int64_t micro_batch) {
  const ResidentSplit& train = resident(Split::train);
  if (order.size() > static_cast<std::size_t>(train.count))
    throw core::InputError(
        fmt::format("the order has {} samples, and {} were uploaded", order.size(), train.count));
  if (batch < 1) throw core::InputError(fmt::format("batch {} is no batch; use 1 or more", batch));
  prepare(micro_batch);
  Executor& executor = executors_.at(micro_batch);
  const auto samples = static_cast<std::int64_t>(order.size());
  const std::int64_t whole = samples / batch, left = samples % batch;
  if (queued_.size() + static_cast<std::size_t>(whole) + 1 > history_steps) collect();
  if (static_cast<core::Bytes>(whole) + 1 > history_steps)
    throw core::InputError(
        fmt::format("{} steps are too many for one start; give a part of the order", whole));
  if (queued_.empty()) reset_slot();

  // The order of two starts ago is still being copied only if its predecessor's steps still run.
  Pinned<std::uint32_t>& host = orders_[turn_ ^= 1];
  check(cudaEventSynchronize(copied_[turn_]), "copying the order");
  host.resize(order.size());
  std::memcpy(host.data(), order.data(), order.size_bytes());
  check(cudaMemcpyAsync(train.order.data(), host.data(), order.size_bytes(), cudaMemcpyHostToDevice,
                        stream_.stream),
        "copying the order");
  check(cudaEventRecord(copied_[turn_], stream_.stream), "copying the order");
  check(cudaMemsetAsync(&state_at(0)->cursor, 0, sizeof(std::uint32_t), stream_.stream), "a step");

  std::int64_t done = 0;
  for (const std::int64_t steps : {steps_per_graph, std::int64_t{1}})
    for (; done + steps <= whole; done += steps)
      check(cudaGraphLaunch(graph_of(executor, train, batch, steps), stream_.stream), "its steps");
  if (left > 0) resident_step(executor, train, left);
  queued_.insert(queued_.end(), static_cast<std::size_t>(whole), batch);
  if (left > 0) queued_.push_back(left);
  steps_ += static_cast<std::uint32_t>(whole + (left > 0));
}

void CudaTrainer::collect() {
  wait("its steps");
  if (queued_.empty()) return;
  std::vector<StepRecord> records(queued_.size());
  check(cudaMemcpy(records.data(), history(), records.size() * sizeof(StepRecord),
                   cudaMemcpyDeviceToHost),
        "reading the losses");
  for (std::size_t i = 0; i < records.size(); ++i)
    add_record(results_.emplace_back(), records[i], queued_[i]);
  queued_.clear();
}

}  // namespace

std::unique_ptr<ResidentTrainer> make_trainer(const model::Network& network,
                                              const Options& options) {
  return std::make_unique<CudaTrainer>(network, options);
}

}  // namespace sweetspot::engine::cuda
