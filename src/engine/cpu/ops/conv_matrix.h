#pragma once
#include "engine/cpu/ops/patches.h"

namespace sweetspot::engine::cpu {

// A convolution of small images with large weights: what the kernel reads at each output position
// is a row of one matrix for several samples, so that the weights are read once for all of them.
class ConvMatrix {
 public:
  // Whether one sample has too few positions to amortise reading the weights.
  static bool fits(const ConvGeometry& geometry, std::int64_t micro_batch);

  ConvMatrix(const ConvGeometry& geometry, std::int64_t micro_batch);

  std::int64_t samples_at_once() const { return samples_; }
  std::int64_t weight_floats() const { return g_.depth() * g_.columns(); }
  core::Bytes working_bytes() const { return working_bytes_; }

  void forward(const ConvImages& images, std::byte* working) const;
  // From the output's gradient to a slot's weights and, with transposed weights, to the input's.
  void add_weights(const ConvImages& input_and_gradient, std::byte* working, float* slot) const;
  void backward(const ConvImages& images, const float* transposed, std::byte* working,
                const Finish& finish = {}) const;

 private:
  void fill_patches(const ConvImages& images, float* patches) const;
  void fill_with(const float* bias, float* to) const;
  void fill_gradients(const ConvImages& images, const Allocation& allocation,
                      float* gradients) const;
  std::int64_t rows(const ConvImages& images) const {
    return (images.samples.end - images.samples.begin) * g_.out.positions();
  }

  ConvGeometry g_;
  Patches patches_;
  std::int64_t samples_;
  core::Bytes patches_at_, outputs_at_, working_bytes_;
};

}  // namespace sweetspot::engine::cpu
