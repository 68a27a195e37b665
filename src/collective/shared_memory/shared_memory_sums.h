#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sweetspot::collective {

// All-reduces over ranks that share memory, done by the calling thread. MPI's messages between
// processes on one machine are also copied by its cores, in small fragments, and each fragment
// waits until the kernel schedules its receiver. Here a rank waits only for data that another rank
// has not produced yet, and it sleeps while waiting, so ranks that share a core do not block each
// other.
//
// Values are split into pieces, and each piece into one portion per rank. A rank copies the other
// ranks' portions of its values into a slot of its segment, sums its own portion over all ranks,
// and copies the other sums back. Each portion is summed by one rank, in a fixed order.
class SharedMemorySums {
 public:
  static constexpr std::size_t segment_bytes();  // per rank

  // The segments of all ranks, zeroed before any rank uses them. MPI places them anywhere in its
  // pages; what counts in one begins at its first cache line, the same for every rank, since all
  // of them map whole pages.
  SharedMemorySums(std::vector<std::byte*> segments, int rank);

  // Starts here and makes progress in every call; complete when wait() returns true.
  using Ticket = std::uint64_t;
  Ticket begin(std::span<float> values);
  Ticket begin(std::span<double> values);
  // False if it is not complete after this time.
  bool wait(Ticket ticket, std::chrono::milliseconds most);

 private:
  static constexpr std::size_t slots = 8, slot_bytes = std::size_t{1} << 20;

  // The number of pieces a rank has finished; each counter in its own cache line.
  struct Count {
    alignas(64) std::atomic<std::uint64_t> pieces;
  };
  struct Segment {
    Count copied_in, summed, copied_out;
    // Used in rank 0's segment, for all ranks. `events` changes whenever a rank may be able to
    // continue; `sleepers` counts the ranks that wait for that.
    alignas(64) std::atomic<std::uint32_t> events;
    std::atomic<std::uint32_t> sleepers;
    alignas(64) std::byte slot[slots][slot_bytes];
  };
  struct Piece {
    std::byte* values;
    std::size_t bytes;
    bool doubles;
  };
  struct Portion {
    std::size_t begin, end;  // bytes of a piece
  };

  Ticket begin(std::span<std::byte> values, bool doubles);
  bool advance();  // false if another rank has to do something first
  void copy_in(const Piece& piece);
  void sum(const Piece& piece);
  void copy_out(const Piece& piece);
  void publish(Count Segment::*count, std::uint64_t pieces);
  std::uint64_t all(Count Segment::*count) const;  // pieces that every rank has finished
  void sleep(std::uint32_t seen, std::chrono::milliseconds most);
  Segment& segment(std::size_t rank) const { return *segments_[rank]; }
  std::byte* slot(std::size_t rank, std::uint64_t piece) const {
    return segment(rank).slot[piece % slots];
  }
  Portion portion(const Piece& piece, std::size_t rank) const;
  const Piece& piece(std::uint64_t number) const { return pieces_[number - first_]; }

  std::vector<Segment*> segments_;
  const std::size_t rank_;
  const std::chrono::microseconds awake_;  // before this rank sleeps
  std::vector<Piece> pieces_;              // from number first_ on; cleared when all are complete
  std::uint64_t first_ = 0, begun_ = 0;
  std::uint64_t copied_in_ = 0, summed_ = 0, copied_out_ = 0;  // by this rank
};

constexpr std::size_t SharedMemorySums::segment_bytes() {
  return sizeof(Segment) + alignof(Segment) - 1;
}

}  // namespace sweetspot::collective
