#pragma once
#include <string>

#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::cpu {

// What this CPU has for bf16, or null and why it has none: one sentence.
struct Bf16Support {
  const Bf16Kernels* kernels = nullptr;
  std::string reason;
  bool tiles() const { return kernels && kernels->tiles; }
};
const Bf16Support& bf16_support();

// For tests: other kernels in place of this CPU's, as long as this lives.
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
