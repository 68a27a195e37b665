#pragma once
#include <atomic>
#include <chrono>
#include <vector>

namespace sweetspot::engine::cpu {

// The cores that the members of a team run on. A scheduler keeps two threads that wake each other
// on one core if a process with the lowest priority has the other one: they look like one busy
// thread. A member that waits for another on its own core therefore moves to a core without one.
class MemberCores {
 public:
  explicit MemberCores(int members) : cores_(static_cast<std::size_t>(members)) {}

  // The calling member's core, which it has as long as nobody moves it.
  void note(int member);
  // Moves the calling member if it shares its core and may use one without another member. It may
  // use all of its cores afterwards, as before. `preempted`: since it last waited, it lost its core
  // while it worked. If no other member took it, a process that is as important as this one did:
  // next to that, the others would wait for this member longer than for one on their own core.
  void part(int member, bool preempted);

 private:
  struct alignas(64) Core {
    std::atomic<int> number{-1};
    std::chrono::steady_clock::time_point next_move{};  // of this member, by itself
  };
  std::vector<Core> cores_;
};

}  // namespace sweetspot::engine::cpu
