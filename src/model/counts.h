#pragma once
#include <cstdint>

#include "model/network.h"

namespace sweetspot::model {

// Arithmetic of one layer for one sample: a multiply-add is two FLOPs.
struct LayerCounts {
  std::int64_t parameters = 0;
  std::int64_t forward_flops = 0;
  std::int64_t training_flops =
      0;  // forward, gradient to the input (none for the first layer), to the weights
  std::int64_t activation_bytes = 0;  // fp32 output
};
LayerCounts counts(const Network&, std::size_t layer);
LayerCounts total_counts(const Network&);

}  // namespace sweetspot::model
