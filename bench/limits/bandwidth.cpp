#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "limits/limits.h"

namespace sweetspot::bench {

double triad_gigabytes_per_second(int threads) {
  constexpr std::int64_t count = 32 << 20;  // 128 MiB an array
  constexpr int repetitions = 5;
  const auto a = std::make_unique_for_overwrite<float[]>(count);
  const auto b = std::make_unique_for_overwrite<float[]>(count);
  const auto c = std::make_unique_for_overwrite<float[]>(count);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i)
    a[i] = 0, b[i] = 1, c[i] = 2;  // first touch on the core that uses the pages
  double best_seconds = 1e9;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + 0.5F * c[i];
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best_seconds = std::min(best_seconds, elapsed.count());
  }
  return 3.0 * count * sizeof(float) / best_seconds / 1e9;
}

}  // namespace sweetspot::bench
