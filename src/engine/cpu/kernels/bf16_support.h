#pragma once
#include <string>

#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::cpu {

// This CPU's bf16 kernels, or null, with the reason in one sentence.
struct Bf16Support {
  const Bf16Kernels* kernels = nullptr;
  std::string reason;
  bool tiles() const { return kernels && kernels->tiles; }
};
const Bf16Support& bf16_support();

// For tests: replaces this CPU's kernels for its own lifetime.
class Bf16InPlace {
 public:
  explicit Bf16InPlace(const Bf16Kernels& kernels);
  ~Bf16InPlace();
  Bf16InPlace(const Bf16InPlace&) = delete;
  Bf16InPlace& operator=(const Bf16InPlace&) = delete;

 private:
  Bf16Support before_;
};

}  // namespace sweetspot::engine::cpu
