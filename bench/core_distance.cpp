// The current distance between two CPUs, for bench/cores. Answers a line "trip" on stdin with the
// nanoseconds of a cache line's round trip, and a line "writes" with that and the microseconds of a
// 512 KB copy to lines that nobody reads, to lines that the other CPU has read, and to those with
// non-temporal stores. Arguments: the two CPUs.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>

#include "core/buffer.h"
#include "engine/cpu/kernels/kernels.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t floats = 128 * 1024;

void move_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof only, &only) == 0) return;
  std::cerr << "bench_core_distance: this process may not run on CPU " << cpu << "\n";
  std::exit(1);
}

template <std::size_t count>
double median(std::array<double, count> times) {
  std::ranges::nth_element(times, times.begin() + count / 2);
  return times[count / 2];
}

class Cores {
 public:
  Cores(int here, int there) : here_(here), there_(there) {}

  double round_trip_ns() const {
    constexpr int trips = 200;
    std::array<double, 9> times;  // other processes disturb some of them
    Clock::time_point start;
    in_turns(
        trips * static_cast<int>(times.size()) + 1,
        [&](int turn) {
          if (turn > 0 && turn % trips == 0)
            times.at(static_cast<std::size_t>(turn / trips) - 1) =
                std::chrono::duration<double, std::nano>(Clock::now() - start).count() / trips;
          if (turn % trips == 0) start = Clock::now();
        },
        [] {});
    return median(times);
  }

  using Copy = std::function<void(const float* from, float* to)>;
  double write_us(bool is_read, const Copy& copy) {
    std::array<double, 21> times;
    double sum = 0;
    in_turns(
        static_cast<int>(times.size()),
        [&](int turn) {
          const Clock::time_point start = Clock::now();
          copy(from_.as<float>(), to_.as<float>());
          times.at(static_cast<std::size_t>(turn)) =
              std::chrono::duration<double, std::micro>(Clock::now() - start).count();
        },
        [&] {
          if (is_read) sum += std::accumulate(to_.as<float>(), to_.as<float>() + floats, 0.);
        });
    if (sum != 0) std::exit(1);  // uses what was read
    return median(times);
  }

 private:
  // Runs each on its CPU, one after the other.
  void in_turns(int turns, const std::function<void(int)>& here,
                const std::function<void()>& there) const {
    alignas(128) std::atomic<int> turn{-1};
    std::thread other([&] {
      move_to(there_);
      turn = 0;
      for (int i = 0; i < turns; ++i) {
        while (turn.load() != 2 * i + 1) {
        }
        there();
        turn = 2 * i + 2;
      }
    });
    move_to(here_);
    for (int i = 0; i < turns; ++i) {
      while (turn.load() != 2 * i) {
      }
      here(i);
      turn = 2 * i + 1;
    }
    other.join();
  }

  int here_, there_;
  sweetspot::core::Buffer from_{floats * sizeof(float), sweetspot::core::Use::workspace},
      to_{floats * sizeof(float), sweetspot::core::Use::workspace};
};

}  // namespace

int main(int argc, char** argv) {
  Cores cores(argc > 1 ? std::atoi(argv[1]) : 0, argc > 2 ? std::atoi(argv[2]) : 1);
  const auto plain = [](const float* from, float* to) { std::copy_n(from, floats, to); };
  const auto past_caches = [](const float* from, float* to) {
    sweetspot::engine::cpu::kernels().stream(from, floats, to);
  };
  std::cout << R"({"version": "core distance"})" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << cores.round_trip_ns();
    if (line == "writes")
      std::cout << ' ' << cores.write_us(false, plain) << ' ' << cores.write_us(true, plain) << ' '
                << cores.write_us(true, past_caches);
    std::cout << std::endl;
  }
}
