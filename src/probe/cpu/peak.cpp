#include "probe/cpu/peak.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "probe/cpu/stopwatch.h"
#include "probe/cpu/team.h"

namespace sweetspot::probe::cpu {
namespace {

// Latency 4 × 2 ports a cycle needs 8 chains; 12 leave room without spilling.
constexpr int chains = 12;
constexpr int rounds = 2048;

#if defined(__x86_64__)
using Wide = float __attribute__((vector_size(64)));
using Half = float __attribute__((vector_size(32)));

__attribute__((target("avx512f"))) double multiply_adds_avx512() {
  Wide a[chains];
  const Wide x = Wide{} + 0.999F, y = Wide{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(v) : "v"(x), "v"(y));
  return 2.0 * 16 * chains * rounds;
}

__attribute__((target("avx2,fma"))) double multiply_adds_avx2() {
  Half a[chains];
  const Half x = Half{} + 0.999F, y = Half{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) asm volatile("vfmadd213ps %2, %1, %0" : "+x"(v) : "x"(x), "x"(y));
  return 2.0 * 8 * chains * rounds;
}
#endif

// The empty asm keeps a chain alive, and in a register, without storing it.
double multiply_adds_generic() {
  using Quarter = float __attribute__((vector_size(16)));
  Quarter a[chains];
  const Quarter x = Quarter{} + 0.999F, y = Quarter{} + 0.001F;
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = v * x + y;
#if defined(__x86_64__)
      asm volatile("" : "+x"(v));
#elif defined(__aarch64__)
      asm volatile("" : "+w"(v));
#else
      asm volatile("" : "+m"(v));
#endif
    }
  return 2.0 * 4 * chains * rounds;
}

using Kernel = double (*)();
Kernel best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_adds_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_adds_avx2;
#endif
  return multiply_adds_generic;
}

// The most operations a second in any millisecond of `seconds`; of one at least.
double best_millisecond(double seconds) {
  constexpr double slice_seconds = 1e-3;
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto slice = Clock::now();
    double operations = 0, elapsed = 0;
    do operations += multiply_adds();
    while ((elapsed = since(slice)) < slice_seconds);
    best = std::max(best, operations / elapsed);
  } while (since(start) < seconds);
  return best;
}

}  // namespace

double multiply_adds() {
  static const Kernel kernel = best_kernel();
  return kernel();
}

double peak_flops_per_second(int threads, double seconds) {
  std::vector<double> best(static_cast<std::size_t>(threads));
  run_apart(threads, [&](int member) {
    best[static_cast<std::size_t>(member)] = best_millisecond(seconds);
  });
  return std::accumulate(best.begin(), best.end(), 0.0);
}

}  // namespace sweetspot::probe::cpu
