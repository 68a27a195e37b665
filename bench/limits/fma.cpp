#include <immintrin.h>
#include <omp.h>

#include <chrono>

#include "limits/limits.h"

namespace sweetspot::bench {
namespace {

// Latency 4 × 2 ports a cycle needs 8 chains; 12 leave room without spilling.
constexpr int chains = 12;
constexpr int rounds = 4096;

// Each kernel gives the operations it did. The empty asm keeps a chain alive without storing it.
__attribute__((target("avx512f"))) double fma_avx512() {
  __m512 a[chains];
  const __m512 x = _mm512_set1_ps(0.999F), y = _mm512_set1_ps(0.001F);
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = _mm512_fmadd_ps(v, x, y);
      asm volatile("" : "+v"(v));
    }
  return 2.0 * 16 * chains * rounds;
}

__attribute__((target("avx2,fma"))) double fma_avx2() {
  __m256 a[chains];
  const __m256 x = _mm256_set1_ps(0.999F), y = _mm256_set1_ps(0.001F);
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = _mm256_fmadd_ps(v, x, y);
      asm volatile("" : "+x"(v));
    }
  return 2.0 * 8 * chains * rounds;
}

double fma_sse() {
  __m128 a[chains];
  const __m128 x = _mm_set1_ps(0.999F), y = _mm_set1_ps(0.001F);
  for (auto& v : a) v = x;
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = _mm_add_ps(_mm_mul_ps(v, x), y);
      asm volatile("" : "+x"(v));
    }
  return 2.0 * 4 * chains * rounds;
}

using Kernel = double (*)();
Kernel best_kernel() {
  if (__builtin_cpu_supports("avx512f")) return fma_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_avx2;
  return fma_sse;
}

}  // namespace

double fma_gflops(int threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Kernel kernel = best_kernel();
  double total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    kernel();  // wakes the wide units
#pragma omp barrier
    const auto start = Clock::now();
    double operations = 0, elapsed = 0;
    while (elapsed < seconds) {
      operations += kernel();
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    }
    total += operations / elapsed / 1e9;
  }
  return total;
}

}  // namespace sweetspot::bench
