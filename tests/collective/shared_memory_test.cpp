#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "collective/shared_memory/shared_memory_sums.h"

namespace sweetspot::collective {
namespace {

using namespace std::chrono_literals;

// Segments of threads that stand in for processes, where MPI may place them: at any multiple of 8.
class Segments {
 public:
  explicit Segments(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      owned_.push_back(std::make_unique<Segment>());
      all_.push_back(owned_.back()->bytes + 8 * rank);
    }
  }
  SharedMemorySums of(int rank) const { return {all_, rank}; }

 private:
  struct alignas(64) Segment {
    std::byte bytes[SharedMemorySums::segment_bytes() + 40]{};
  };
  std::vector<std::unique_ptr<Segment>> owned_;
  std::vector<std::byte*> all_;
};

// Rank r contributes r + 1 times these.
template <class Value>
std::vector<Value> numbers(std::size_t count, int times) {
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<Value>((i % 1000) * times);
  return values;
}

// More pieces than slots, several all-reduces in flight, with doubles between them.
TEST(SharedMemorySums, AnySizeIsSummedByAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    const Segments segments(ranks);
    const int all = ranks * (ranks + 1) / 2;
    std::vector<std::thread> members;
    for (int rank = 0; rank < ranks; ++rank)
      members.emplace_back([&, rank] {
        SharedMemorySums sums = segments.of(rank);
        for (int round = 0; round < 3; ++round) {
          auto large = numbers<float>(3'000'001, rank + 1), small = numbers<float>(3, rank + 1);
          auto doubles = numbers<double>(1001, rank + 1);
          std::vector<float> none;
          const auto first = sums.begin(large), second = sums.begin(none);
          const auto third = sums.begin(doubles), fourth = sums.begin(small);
          for (const auto ticket : {first, second, third, fourth})
            while (!sums.wait(ticket, 1s)) {
            }
          EXPECT_TRUE(large == numbers<float>(large.size(), all));
          EXPECT_TRUE(doubles == numbers<double>(doubles.size(), all));
          EXPECT_EQ(small, numbers<float>(small.size(), all));
        }
      });
    for (std::thread& member : members) member.join();
  }
}

TEST(SharedMemorySums, WhoWaitsIsToldThatAnotherDoesNotCome) {
  const Segments segments(2);
  SharedMemorySums first = segments.of(0), second = segments.of(1);
  std::vector<float> of_first{1, 2}, of_second{10, 20};
  const auto ticket = first.begin(of_first);
  EXPECT_FALSE(first.wait(ticket, 1ms));
  // When it arrives, the sum completes. One thread plays both ranks, in turns.
  const auto other = second.begin(of_second);
  while (!first.wait(ticket, 0ms)) second.wait(other, 0ms);
  while (!second.wait(other, 0ms)) first.wait(ticket, 0ms);
  EXPECT_EQ(of_first, (std::vector<float>{11, 22}));
  EXPECT_EQ(of_second, of_first);
}

}  // namespace
}  // namespace sweetspot::collective
