#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <chrono>

#include "limits/limits.h"

namespace sweetspot::bench {
namespace {

// Latency 4 × 2 ports per cycle needs 8 chains; 12 leave slack without spilling.
constexpr int chains = 12;
constexpr int rounds = 4096;

// Each kernel returns its number of operations. The empty asm keeps a chain alive without storing
// it.
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

// Each lane has two products.
__attribute__((target("avx512f,avx512bf16"))) double pairs_avx512() {
  __m512 a[chains];
  auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80)),
       y = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3c00));
  for (auto& v : a) v = _mm512_setzero_ps();
  asm volatile("" : "+v"(x), "+v"(y));
  for (int round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (auto& v : a) {
      v = _mm512_dpbf16_ps(v, x, y);
      asm volatile("" : "+v"(v));
    }
  return 2.0 * 32 * chains * rounds;
}

using Kernel = double (*)();
Kernel best_kernel() {
  if (__builtin_cpu_supports("avx512f")) return fma_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_avx2;
  return fma_sse;
}

FmaSpeed speed(Kernel kernel, int threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr double slice_seconds = 1e-3;
  double mean = 0, best = 0;
#pragma omp parallel num_threads(threads) reduction(+ : mean, best)
  {
    kernel();  // wakes the wide units
#pragma omp barrier
    const auto start = Clock::now();
    auto now = start;
    double operations = 0;
    while (Seconds(now - start).count() < seconds) {
      const auto slice_start = now;
      double slice_operations = 0;
      do {
        slice_operations += kernel();
        now = Clock::now();
      } while (Seconds(now - slice_start).count() < slice_seconds);
      best = std::max(best, slice_operations / Seconds(now - slice_start).count() / 1e9);
      operations += slice_operations;
    }
    mean = operations / Seconds(now - start).count() / 1e9;
  }
  return {mean, best};
}

}  // namespace

FmaSpeed fma_speed(int threads, double seconds) { return speed(best_kernel(), threads, seconds); }

FmaSpeed bf16_speed(int threads, double seconds) {
  return __builtin_cpu_supports("avx512bf16") ? speed(pairs_avx512, threads, seconds) : FmaSpeed{};
}

}  // namespace sweetspot::bench
