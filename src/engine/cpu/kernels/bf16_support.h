#pragma once
#include <string>

#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::cpu {

// What this CPU has for bf16, or null and why it has none: one sentence.
struct Bf16Support {
  const Bf16Kernels* kernels = nullptr;
  std::string reason;
};
const Bf16Support& bf16_support();

}  // namespace sweetspot::engine::cpu
