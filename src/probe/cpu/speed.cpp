#include "probe/cpu/speed.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "probe/cpu/team.h"

namespace sweetspot::probe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

// Operations a second in each slice of `slice_seconds` that fits in `seconds`; one at least.
std::vector<double> slices(double seconds, double slice_seconds) {
  std::vector<double> found;
  const auto start = Clock::now();
  do {
    const auto slice = Clock::now();
    double operations = 0, elapsed = 0;
    do operations += multiply_adds();
    while ((elapsed = since(slice)) < slice_seconds);
    found.push_back(operations / elapsed);
  } while (since(start) < seconds);
  return found;
}

double best(const std::vector<double>& found) { return *std::ranges::max_element(found); }

double median(std::vector<double> found) {
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
  std::ranges::nth_element(found, middle);
  return *middle;
}

// The sum over threads that run at once, each judged by its slices.
template <class Judge>
double sum_of(int threads, double seconds, double slice_seconds, Judge judge) {
  std::vector<double> judged(static_cast<std::size_t>(threads));
  run_apart(threads, [&](int member) {
    judged[static_cast<std::size_t>(member)] = judge(slices(seconds, slice_seconds));
  });
  return std::accumulate(judged.begin(), judged.end(), 0.0);
}

}  // namespace

double multiply_adds() {
  static const Kernel kernel = best_kernel();
  return kernel();
}

double speed(int threads) { return sum_of(threads, 3e-3, 2e-4, median); }

double peak_flops_per_second(int threads, double seconds) {
  return sum_of(threads, seconds, 1e-3, best);
}

}  // namespace sweetspot::probe::cpu
