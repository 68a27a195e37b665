#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "emulated_tiles.h"
#include "engine/cpu/kernels/bf16_support.h"

namespace sweetspot::engine::testing {

// Emulated tiles: the same code except for the instructions themselves.
constexpr const char* bf16_sets[] = {"avx512bf16", "amx", "emulated"};

inline const cpu::Bf16Kernels* bf16_kernels_of(std::string_view set) {
  const cpu::Bf16Kernels* own = cpu::bf16_support().kernels;
  if (!own) return nullptr;
  if (set == "avx512bf16") return &cpu::kernels_avx512bf16;
  if (set == "amx") return own->tiles ? own : nullptr;
  static const cpu::Bf16Kernels emulated = cpu::kernels_on_tiles("emulated", emulated_tiles);
  return emulated.multiply ? &emulated : nullptr;
}

template <class Base>
class WithSet : public Base {
 protected:
  virtual std::string set() const = 0;
  void SetUp() override {
    const cpu::Bf16Kernels* found = bf16_kernels_of(set());
    if (!found) GTEST_SKIP() << "no " << set() << ": " << cpu::bf16_support().reason;
    in_place_.emplace(*found);
  }
  const cpu::Bf16Kernels& bf16() const { return *cpu::bf16_support().kernels; }

 private:
  std::optional<cpu::Bf16InPlace> in_place_;
};

}  // namespace sweetspot::engine::testing
