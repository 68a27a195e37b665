#include "engine/cpu/member_cores.h"

#include <sched.h>

#include <algorithm>

namespace sweetspot::engine::cpu {
namespace {

// A move takes some 10 µs, and the core that was noted may be an old one. After a process with the
// same priority took the core, several of the scheduler's slices.
constexpr std::chrono::milliseconds between_moves{1}, after_preemption{50};

}  // namespace

void MemberCores::note(int member) {
  cores_[static_cast<std::size_t>(member)].number.store(sched_getcpu(), std::memory_order_relaxed);
}

void MemberCores::part(int member, bool preempted) {
  Core& own = cores_[static_cast<std::size_t>(member)];
  const int here = sched_getcpu();
  const auto is_here = [&](const Core& core) {
    return &core != &own && core.number.load(std::memory_order_relaxed) == here;
  };
  const bool shares = std::ranges::any_of(cores_, is_here);
  if (!shares && !preempted) return;
  const auto now = std::chrono::steady_clock::now();
  if (!shares) own.next_move = now + after_preemption;
  if (!shares || now < own.next_move) return;
  own.next_move = now + between_moves;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;  // more than 1,024 cores
  cpu_set_t free = allowed;
  for (const Core& core : cores_)
    if (const int other = core.number.load(std::memory_order_relaxed); &core != &own && other >= 0)
      CPU_CLR(other, &free);
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof(free), &free) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
  note(member);
}

}  // namespace sweetspot::engine::cpu
