#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace sweetspot::probe::cpu {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The cores this process may use, starting with the current one, which is surely not too busy.
std::vector<int> allowed_cores();
// Pins the calling thread to a core. If that is refused, the scheduler decides.
void stay_on(int core);

// The machine's speed at one moment; 0 is unknown.
struct SpeedReading {
  // In registers, on all cores at once, as many at a time as a core can issue: it drops with a
  // lower clock, and with a neighbour of this virtual machine on the other hardware thread of a
  // core, which barely affects wide arithmetic but takes a third of everything else.
  double additions_per_second = 0;
  // The rate at which each core reads what its neighbour has just written. The host may move a
  // virtual machine's cores apart, to another cache or socket, for half a second: they compute as
  // fast as before, but a step's sums over all threads do not. 0 for a single core.
  double exchange_bytes_per_second = 0;
};

// Measures the machine's speed in a fifth of a millisecond, repeatedly: its threads persist, one
// per core, and sleep in between.
class SpeedProbe {
 public:
  explicit SpeedProbe(int cores);
  ~SpeedProbe();
  SpeedProbe(const SpeedProbe&) = delete;
  SpeedProbe& operator=(const SpeedProbe&) = delete;

  SpeedReading take();

 private:
  // Spins: the waits take microseconds, less than falling asleep does.
  class Barrier {
   public:
    explicit Barrier(int members) : members_(members) {}
    void wait();

   private:
    int members_;
    std::atomic<int> arrived_{0}, round_{0};
  };

  void serve(std::size_t member);
  double exchange(std::size_t member);
  void end();

  Barrier together_;
  std::atomic<std::uint32_t> round_{0}, left_{0};
  std::atomic<bool> ending_{false};
  std::vector<std::vector<float>> written_;  // by each member, for its neighbour
  std::vector<SpeedReading> found_;          // by each member
  std::vector<std::thread> members_;         // none if the machine refused one
};

}  // namespace sweetspot::probe::cpu
