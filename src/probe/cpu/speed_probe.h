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

// The cores this process may use, from the one it is on: that one is surely not too busy for it.
std::vector<int> allowed_cores();
// Keeps the calling thread on a core. Where that is refused it runs wherever the scheduler likes.
void stay_on(int core);

// How fast the machine was at one moment; 0 is unknown.
struct SpeedReading {
  // In registers, on all cores at once, as many at a time as a core can begin: a slower clock
  // shows, and so does a neighbour of this virtual machine on the other half of a physical core,
  // which leaves wide arithmetic nearly alone and takes a third of everything else.
  double additions_per_second = 0;
  // At which each core reads what its neighbour has just written. A virtual machine's cores may be
  // moved apart, to another cache or socket, for half a second: they compute as fast as before, and
  // a step's sums over all threads do not. 0 for a single core, which has no neighbour.
  double exchange_bytes_per_second = 0;
};

// Feels how fast the machine is in a fifth of a millisecond, again and again: its threads stay, one
// on each core, and sleep between.
class SpeedProbe {
 public:
  explicit SpeedProbe(int cores);
  ~SpeedProbe();
  SpeedProbe(const SpeedProbe&) = delete;
  SpeedProbe& operator=(const SpeedProbe&) = delete;

  SpeedReading take();

 private:
  // Spins: what comes between takes microseconds, less than falling asleep does.
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
  std::vector<std::thread> members_;         // none where the machine refused one
};

}  // namespace sweetspot::probe::cpu
