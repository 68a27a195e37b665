#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "engine/cpu/kernels/amx_check.h"
#include "engine/cpu/kernels/bf16_support.h"
#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {
namespace {

// The best first.
#if defined(__x86_64__)
constexpr std::array<const Kernels*, 3> compiled{&kernels_avx512, &kernels_avx2, &kernels_generic};

bool runs(const Kernels& kernels) {
  if (&kernels == &kernels_avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (&kernels == &kernels_avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return true;
}
#elif defined(__aarch64__)
constexpr std::array<const Kernels*, 2> compiled{&kernels_neon, &kernels_generic};

bool runs(const Kernels&) { return true; }  // NEON is part of the architecture
#else
constexpr std::array<const Kernels*, 1> compiled{&kernels_generic};

bool runs(const Kernels&) { return true; }
#endif

// The value of SWEETSPOT_ISA; empty: the best.
std::string_view asked_isa() {
  const char* asked = std::getenv("SWEETSPOT_ISA");
  return asked ? asked : "";
}
// AVX-512 with bf16, but without tiles.
constexpr std::string_view without_tiles = "avx512bf16";

const Kernels& choose() {
  const std::string_view asked = asked_isa() == without_tiles ? "avx512" : asked_isa();
  for (const Kernels* candidate : compiled)
    if (asked.empty() ? runs(*candidate) : asked == candidate->name) {
      if (!runs(*candidate))
        throw core::InputError(
            fmt::format("SWEETSPOT_ISA={} is not what this CPU has; unset it", asked));
      return *candidate;
    }
  throw core::InputError(
      "SWEETSPOT_ISA names no instruction set; use avx512, avx512bf16, avx2, neon or generic, or "
      "unset it");
}

Bf16Support look_for_bf16() {
#if defined(__x86_64__)
  if (&kernels() != &kernels_avx512)
    return {nullptr,
            fmt::format("bf16 needs AVX512-BF16, and the kernels here are {}", kernels().name)};
  if (kernels_avx512bf16.name && __builtin_cpu_supports("avx512bf16")) {
    static const Bf16Kernels amx = kernels_on_tiles("amx", products_amx);
    if (asked_isa() != without_tiles && amx_works()) return {&amx, "this CPU has AMX"};
    return {&kernels_avx512bf16, "this CPU has AVX512-BF16"};
  }
#endif
  return {nullptr,
          "bf16 needs AVX512-BF16 (AMD Zen 4, Intel Cooper Lake and later), which this "
          "CPU does not have"};
}

Bf16Support& found_bf16() {
  static Bf16Support found = look_for_bf16();
  return found;
}

}  // namespace

Bf16Kernels kernels_on_tiles(const char* name, const TileProducts& products) {
  Bf16Kernels made = kernels_avx512bf16;
  made.name = name, made.tiles = true;
  made.multiply = products.multiply, made.outer = products.outer;
  made.sample_tiles = products.sample_tiles;
  return made;
}

const Bf16Support& bf16_support() { return found_bf16(); }

Bf16InPlace::Bf16InPlace(const Bf16Kernels& kernels)
    : before_(std::exchange(found_bf16(), {&kernels, "a test asks for it"})) {}
Bf16InPlace::~Bf16InPlace() { found_bf16() = before_; }

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace sweetspot::engine::cpu
