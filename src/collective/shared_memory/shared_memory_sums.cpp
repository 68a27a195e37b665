#include "collective/shared_memory/shared_memory_sums.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <thread>

namespace sweetspot::collective {
namespace {

using Clock = std::chrono::steady_clock;

// Waking up takes about 50 µs on a virtual machine. Ranks with a core each spin for longer than
// that; otherwise a rank that wakes up finds the other one asleep, and so on.
constexpr std::chrono::microseconds awake_on_own_core{100}, awake_on_shared_core{5};

// std::atomic::wait only works between threads of one process.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::milliseconds most) {
  const timespec time{most.count() / 1000, most.count() % 1000 * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}
void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

template <class Value>
void add(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto* sums = reinterpret_cast<Value*>(to);
  const auto* values = reinterpret_cast<const Value*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(Value); ++i) sums[i] += values[i];
}

}  // namespace

SharedMemorySums::SharedMemorySums(std::vector<std::byte*> segments, int rank)
    : rank_(static_cast<std::size_t>(rank)),
      awake_(segments.size() <= std::thread::hardware_concurrency() ? awake_on_own_core
                                                                    : awake_on_shared_core) {
  for (std::byte* segment : segments) {
    void* place = segment;
    std::size_t space = segment_bytes();
    segments_.push_back(
        static_cast<Segment*>(std::align(alignof(Segment), sizeof(Segment), place, space)));
  }
}

SharedMemorySums::Ticket SharedMemorySums::begin(std::span<float> values) {
  return begin(std::as_writable_bytes(values), false);
}
SharedMemorySums::Ticket SharedMemorySums::begin(std::span<double> values) {
  return begin(std::as_writable_bytes(values), true);
}
SharedMemorySums::Ticket SharedMemorySums::begin(std::span<std::byte> values, bool doubles) {
  if (copied_out_ == begun_) pieces_.clear(), first_ = begun_;
  for (std::size_t at = 0; at < values.size(); at += slot_bytes, ++begun_)
    pieces_.push_back({values.data() + at, std::min(slot_bytes, values.size() - at), doubles});
  while (advance()) {
  }
  return begun_;
}

bool SharedMemorySums::wait(Ticket ticket, std::chrono::milliseconds most) {
  const auto end = Clock::now() + most;
  while (copied_out_ < ticket) {
    const std::uint32_t seen = segment(0).events.load();
    if (advance()) continue;
    const auto now = Clock::now();
    if (now >= end) return false;
    sleep(seen, std::chrono::ceil<std::chrono::milliseconds>(end - now));
  }
  return true;
}

// First what other ranks wait for.
bool SharedMemorySums::advance() {
  if (copied_in_ < begun_ && all(&Segment::copied_out) + slots > copied_in_)
    copy_in(piece(copied_in_));
  else if (summed_ < copied_in_ && all(&Segment::copied_in) > summed_)
    sum(piece(summed_));
  else if (copied_out_ < summed_ && all(&Segment::summed) > copied_out_)
    copy_out(piece(copied_out_));
  else
    return false;
  return true;
}

void SharedMemorySums::copy_in(const Piece& piece) {
  const Portion own = portion(piece, rank_);
  std::byte* to = slot(rank_, copied_in_);
  std::memcpy(to, piece.values, own.begin);
  std::memcpy(to + own.end, piece.values + own.end, piece.bytes - own.end);
  publish(&Segment::copied_in, ++copied_in_);
}

void SharedMemorySums::sum(const Piece& piece) {
  const Portion own = portion(piece, rank_);
  const std::size_t bytes = own.end - own.begin;
  std::byte* values = piece.values + own.begin;
  for (std::size_t other = 0; other < segments_.size(); ++other) {
    if (other == rank_) continue;
    const std::byte* from = slot(other, summed_) + own.begin;
    piece.doubles ? add<double>(values, from, bytes) : add<float>(values, from, bytes);
  }
  std::memcpy(slot(rank_, summed_) + own.begin, values, bytes);
  publish(&Segment::summed, ++summed_);
}

void SharedMemorySums::copy_out(const Piece& piece) {
  for (std::size_t other = 0; other < segments_.size(); ++other) {
    if (other == rank_) continue;
    const Portion theirs = portion(piece, other);
    std::memcpy(piece.values + theirs.begin, slot(other, copied_out_) + theirs.begin,
                theirs.end - theirs.begin);
  }
  publish(&Segment::copied_out, ++copied_out_);
}

// In whole cache lines, so that no two ranks write to the same one.
SharedMemorySums::Portion SharedMemorySums::portion(const Piece& piece, std::size_t rank) const {
  constexpr std::size_t line = 64;
  const std::size_t lines = (piece.bytes + line - 1) / line;
  const auto at = [&](std::size_t of) {
    return std::min(lines * of / segments_.size() * line, piece.bytes);
  };
  return {at(rank), at(rank + 1)};
}

std::uint64_t SharedMemorySums::all(Count Segment::*count) const {
  std::uint64_t least = UINT64_MAX;
  for (const Segment* segment : segments_) least = std::min(least, (segment->*count).pieces.load());
  return least;
}

// Others can continue once the last rank gets here. If two get here at the same time, the one with
// the later store sees both.
void SharedMemorySums::publish(Count Segment::*count, std::uint64_t pieces) {
  (segment(rank_).*count).pieces.store(pieces);
  if (all(count) < pieces) return;
  segment(0).events.fetch_add(1);
  if (segment(0).sleepers.load() > 0) futex_wake_all(segment(0).events);
}

void SharedMemorySums::sleep(std::uint32_t seen, std::chrono::milliseconds most) {
  const std::atomic<std::uint32_t>& events = segment(0).events;
  for (const auto end = Clock::now() + awake_; Clock::now() < end;)
    if (events.load() != seen) return;
  segment(0).sleepers.fetch_add(1);
  futex_wait(events, seen, most);
  segment(0).sleepers.fetch_sub(1);
}

}  // namespace sweetspot::collective
