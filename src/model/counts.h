#pragma once
#include <cstdint>

#include "model/network.h"

namespace sweetspot::model {

// Arithmetic of one layer for one sample: a multiply-add is two FLOPs.
struct LayerCounts {
  std::int64_t parameters = 0;
  std::int64_t forward_flops = 0;
  std::int64_t training_flops =
      0;  // forward, input gradient (none for the first layer), weight gradient
  std::int64_t activation_bytes = 0;  // fp32 output
};
LayerCounts counts(const Network&, std::size_t layer);
LayerCounts total_counts(const Network&);

}  // namespace sweetspot::model
