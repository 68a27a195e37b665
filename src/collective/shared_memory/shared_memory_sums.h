#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sweetspot::collective {

// Sums over ranks whose memory all of them see, by the thread that asks for them: messages between
// processes of one machine are copied by its cores too, in small parts, and each part has to wait
// until the kernel lets its receiver run. Here ranks wait for each other only where one needs what
// another has not made yet, asleep, so that ranks that share a core do not keep it from each other.
//
// Values are cut into pieces, and each piece into a portion of each rank. A rank copies the others'
// portions of its values into a slot of its segment, adds up its own portion of all ranks, and
// copies the others' sums back: every portion is summed by one rank, in one order.
class SharedMemorySums {
 public:
  static constexpr std::size_t segment_bytes();  // of one rank

  // The segments of all ranks, which were zeroes when the first of them began.
  SharedMemorySums(std::vector<std::byte*> segments, int rank);

  // Begins here and goes on in each call; done once wait() says so.
  using Ticket = std::uint64_t;
  Ticket begin(std::span<float> values);
  Ticket begin(std::span<double> values);
  // False where it is not there after so long.
  bool wait(Ticket ticket, std::chrono::milliseconds most);

 private:
  static constexpr std::size_t slots = 8, slot_bytes = std::size_t{1} << 20;

  // How many pieces a rank is done with. Each counter has a cache line of its own.
  struct Count {
    alignas(64) std::atomic<std::uint64_t> pieces;
  };
  struct Segment {
    Count copied_in, summed, copied_out;
    // Of rank 0's segment, for all ranks: changes whenever one may go on, and who sleeps until
    // then.
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
  bool advance();  // false where nothing can be done before another rank has done something
  void copy_in(const Piece& piece);
  void sum(const Piece& piece);
  void copy_out(const Piece& piece);
  void publish(Count Segment::*count, std::uint64_t pieces);
  std::uint64_t all(Count Segment::*count) const;  // the pieces that every rank is done with
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
  std::vector<Piece> pieces_;  // from number first_ on; emptied when all of them are done
  std::uint64_t first_ = 0, begun_ = 0;
  std::uint64_t copied_in_ = 0, summed_ = 0, copied_out_ = 0;  // by this rank
};

constexpr std::size_t SharedMemorySums::segment_bytes() { return sizeof(Segment); }

}  // namespace sweetspot::collective
