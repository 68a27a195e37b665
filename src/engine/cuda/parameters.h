#pragma once
#include <span>
#include <vector>

#include "engine/cuda/cuda.h"
#include "engine/cuda/device.h"
#include "engine/cuda/kernels/params.h"
#include "engine/cuda/weights.h"

namespace sweetspot::engine::cuda {

// What a trainer holds on the device whatever its plans: weights, gradients, the optimizer's state,
// and what the steps hand on to each other.
class Parameters {
 public:
  Parameters(const model::Network& network, const Options& options, cudaStream_t stream);

  // The update's part of all this; the rest of it comes from the program.
  void fill(Update& update) const;
  float* weights() const { return weights_.as<float>(); }
  // The trainable weights' gradients, where settle() sums them, on the device.
  std::span<float> gradient_sums() const {
    return {gradients_.as<float>(), static_cast<std::size_t>(layout_.trainable_floats)};
  }
  const std::byte* operands() const { return operands_.data(); }
  StepState* state() const { return workspace_.as<StepState>(); }
  StepRecord* history() const { return workspace_.as<StepRecord>(2 * sizeof(StepState)); }
  // Evaluation has a state and a record of its own.
  StepState* evaluation_state() const { return state() + 1; }
  StepRecord* evaluation_record() const;
  bool scaled() const { return options_.precision == Precision::fp16; }

  // These wait for what the stream does.
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
