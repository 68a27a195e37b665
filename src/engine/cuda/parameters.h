#pragma once
#include <span>
#include <vector>

#include "engine/cuda/cuda.h"
#include "engine/cuda/device.h"
#include "engine/cuda/kernels/params.h"
#include "engine/cuda/kernels/ranks.h"
#include "engine/cuda/weights.h"

namespace sweetspot::engine::cuda {

// What a trainer holds on the device regardless of its plans: weights, gradients, the optimizer's
// state, and the state passed from step to step.
class Parameters {
 public:
  Parameters(const model::Network& network, const Options& options, cudaStream_t stream);

  // Fills in the trainer's part of the update; the rest comes from the program.
  void fill(Update& update) const;
  float* weights() const { return weights_.as<float>(); }
  // The trainable weights' gradients on the device, where settle() sums them.
  std::span<float> gradient_sums() const {
    return {gradients_.as<float>(), static_cast<std::size_t>(layout_.trainable_floats)};
  }
  const std::byte* operands() const { return operands_.data(); }
  StepState* state() const { return workspace_.as<StepState>(); }
  StepRecord* history() const { return workspace_.as<StepRecord>(2 * sizeof(StepState)); }
  // Evaluation has its own state and record.
  StepState* evaluation_state() const { return state() + 1; }
  StepRecord* evaluation_record() const;
  RankSumsRecord* rank_record() const;
  bool scaled() const { return options_.precision == Precision::fp16; }

  // These wait for the stream.
  std::vector<Variable> variables() const;
  std::vector<Variable> gradients() const;
  void assign(std::span<const Variable> variables);
  void set_learning_rate(double learning_rate);
  StepState read_state() const { return fetch(state()); }
  template <class T>
  T fetch(const T* from) const {
    T value;
    check(cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, stream_),
          "reading its state");
    check(cudaStreamSynchronize(stream_), "a step");
    return value;
  }

  core::MemoryByUse memory() const;

 private:
  std::vector<float> get(const DeviceBuffer& buffer, const char* doing) const;
  void put_weights(const std::vector<float>& host) const;

  const model::Network& network_;
  const Options& options_;
  cudaStream_t stream_;
  WeightLayout layout_;
  DeviceBuffer weights_, operands_, gradients_, optimizer_, workspace_;
};

}  // namespace sweetspot::engine::cuda
