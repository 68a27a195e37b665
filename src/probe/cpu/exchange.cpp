#include "probe/cpu/exchange.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "probe/cpu/team.h"

namespace sweetspot::probe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// More than a first-level cache, less than a second-level one: it comes from the neighbour's.
constexpr std::size_t floats_each = 256 * 1024 / sizeof(float);
constexpr int exchange_passes = 8;
constexpr std::size_t floats_a_line = 64 / sizeof(float);

// Spins: a pass takes microseconds, less than falling asleep does.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    const int round = round_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_ = 0;
      round_.fetch_add(1);
      return;
    }
    while (round_.load() == round) std::this_thread::yield();
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0}, round_{0};
};

}  // namespace

double exchange_bytes_per_second(int threads) {
  if (threads < 2) return 0;
  std::vector<std::vector<float>> written(static_cast<std::size_t>(threads));
  std::vector<double> best(written.size());
  Barrier together(threads);
  run_apart(threads, [&](int number) {
    const auto member = static_cast<std::size_t>(number);
    std::vector<float>& mine = written[member];
    mine.resize(floats_each);
    for (int pass = 0; pass < exchange_passes; ++pass) {
      for (float& value : mine) value = static_cast<float>(pass);
      together.wait();
      const std::vector<float>& others = written[(member + 1) % written.size()];
      const auto start = Clock::now();
      float sum = 0;
      for (std::size_t i = 0; i < floats_each; i += floats_a_line) sum += others[i];
      asm volatile("" : : "m"(sum));
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double speed = static_cast<double>(floats_each * sizeof(float)) / seconds;
      if (speed > best[member]) best[member] = speed;
      together.wait();
    }
  });
  double sum = 0;
  for (const double speed : best) sum += speed;
  return sum;
}

}  // namespace sweetspot::probe::cpu
