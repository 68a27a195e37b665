#include "probe/cpu/bandwidth.h"

#include <unistd.h>

#include <algorithm>
#include <barrier>

#include "core/buffer.h"
#include "probe/cpu/stopwatch.h"
#include "probe/cpu/team.h"
#include "probe/proc/host.h"

namespace sweetspot::probe::cpu {
namespace {

constexpr int bandwidth_passes = 5;
constexpr core::Bytes most_bytes = 512 * core::MiB, least_bytes = 96 * core::MiB;

core::Bytes last_level_cache() {
  long largest = 0;
#if defined(_SC_LEVEL4_CACHE_SIZE)
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
    largest = std::max(largest, sysconf(level));
#endif
  return static_cast<core::Bytes>(largest);
}

}  // namespace

core::Bytes triad_bytes() {
  const core::Bytes wanted = std::clamp(4 * last_level_cache(), least_bytes, most_bytes);
  const auto free = proc::memory().free;
  return std::max(core::MiB, free ? std::min(wanted, *free / 8) : least_bytes);
}

double triad_bytes_per_second(int threads, core::Bytes bytes) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float) / 3);
  const core::Buffer memory(3 * static_cast<core::Bytes>(count) * sizeof(float),
                            core::Use::workspace);
  float* const a = memory.as<float>();
  float* const b = a + count;
  float* const c = b + count;
  std::barrier together(threads);
  double best_seconds = 0;
  run_apart(threads, [&](int member) {
    const std::int64_t begin = count * member / threads, end = count * (member + 1) / threads;
    // Pages where they are used, and no pass that reads the kernel's one page of zeros.
    for (std::int64_t i = begin; i < end; ++i) a[i] = 0, b[i] = 1, c[i] = 2;
    for (int pass = 0; pass < bandwidth_passes; ++pass) {
      together.arrive_and_wait();
      const auto start = Clock::now();
      for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 0.5F * c[i];
      together.arrive_and_wait();
      const double seconds = since(start);
      if (member == 0) best_seconds = pass == 0 ? seconds : std::min(best_seconds, seconds);
    }
  });
  return 3.0 * static_cast<double>(count) * sizeof(float) / best_seconds;
}

}  // namespace sweetspot::probe::cpu
