#pragma once
#include "engine/cuda/kernels/params.h"

namespace sweetspot::engine::cuda {

// What a layer needs to update its weights in its own backward pass: pointers to all parameters, as
// in Update. No weights: it must not.
struct InPlaceUpdate {
  float *weights = nullptr, *mean = nullptr, *square = nullptr;
  OptimizerRule rule{};
  const StepState* state = nullptr;
  bool scaled = false;  // as in Update

  // The same from weight `begin` on.
  InPlaceUpdate from(std::int64_t begin) const {
    InPlaceUpdate u = *this;
    u.weights += begin;
    if (mean) u.mean += begin;
    if (square) u.square += begin;
    return u;
  }
};

}  // namespace sweetspot::engine::cuda
