#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "engine/cpu/kernels/bf16_support.h"
#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {
namespace {

bool runs(const Kernels& kernels) {
#if defined(__x86_64__)
  if (&kernels == &kernels_avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (&kernels == &kernels_avx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  if (&kernels != &kernels_generic) return false;
#endif
  return true;
}

const Kernels& choose() {
  const char* asked = std::getenv("SWEETSPOT_ISA");
  for (const Kernels* candidate : {&kernels_avx512, &kernels_avx2, &kernels_generic})
    if (asked && *asked ? std::string_view(asked) == candidate->name : runs(*candidate)) {
      if (!runs(*candidate))
        throw core::InputError(
            fmt::format("SWEETSPOT_ISA={} is not what this CPU has; unset it", asked));
      return *candidate;
    }
  throw core::InputError(
      "SWEETSPOT_ISA names no instruction set; use avx512, avx2 or generic, or unset it");
}

Bf16Support look_for_bf16() {
  if (&kernels() != &kernels_avx512)
    return {nullptr,
            fmt::format("bf16 needs AVX512-BF16, and the kernels here are {}", kernels().name)};
#if defined(__x86_64__)
  if (kernels_avx512bf16.name && __builtin_cpu_supports("avx512bf16"))
    return {&kernels_avx512bf16, "this CPU has AVX512-BF16"};
#endif
  return {nullptr,
          "bf16 needs AVX512-BF16 (AMD Zen 4, Intel Cooper Lake and later), which this "
          "CPU does not have"};
}

}  // namespace

const Bf16Support& bf16_support() {
  static const Bf16Support found = look_for_bf16();
  return found;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace sweetspot::engine::cpu
