#include "data/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace sweetspot::data {
namespace {

constexpr core::Seconds very_long{3600};

TEST(Ring, DeliversInOrderWhateverTheWorkers) {
  for (const int workers : {0, 1, 2, 7})
    for (const std::size_t slots : {1, 2, 5}) {
      std::vector<std::int64_t> content(slots, -1);
      Ring ring(workers, slots,
                [&](std::int64_t ticket, std::size_t slot) { content[slot] = ticket; });
      EXPECT_EQ(ring.next(), std::nullopt);  // not started
      for (int round = 0; round < 3; ++round) {
        ring.cancel();
        ring.start(100);
        for (std::int64_t ticket = 0; ticket < 100; ++ticket) {
          const auto slot = ring.next();
          ASSERT_TRUE(slot);
          ASSERT_EQ(content[*slot], ticket);
        }
        EXPECT_EQ(ring.next(), std::nullopt);
        EXPECT_EQ(ring.next(), std::nullopt);
      }
    }
}

TEST(Ring, AStopEndsSleepsAndDelivery) {
  for (const int workers : {0, 1, 3}) {
    std::atomic<int> stop{0};
    std::atomic<bool> slept{false};
    Ring* sleeper = nullptr;
    Ring ring(
        workers, 2,
        [&](std::int64_t, std::size_t) { slept = sleeper->sleep_unless_cancelled(very_long); },
        &stop);
    sleeper = &ring;
    ring.start(10);
    std::thread signal([&] { stop = 2; });
    EXPECT_EQ(ring.next(), std::nullopt);
    signal.join();
    EXPECT_FALSE(slept);
  }
}

TEST(Ring, WorksAheadByAsManyAsThereAreSlotsAndNoMore) {
  constexpr std::size_t slots = 4;
  std::atomic<std::int64_t> asked{0};
  std::atomic<bool> too_far{false};
  std::promise<void> all_filled;
  Ring ring(2, slots, [&](std::int64_t ticket, std::size_t) {
    const std::int64_t held = asked > 0 ? asked - 1 : 0;
    if (ticket >= held + static_cast<std::int64_t>(slots)) too_far = true;
    if (ticket == 3) all_filled.set_value();
  });
  ring.start(200);
  all_filled.get_future().wait();  // without a call of next()
  for (int i = 0; i < 200; ++i) {
    ++asked;
    ring.next();
  }
  EXPECT_FALSE(too_far);
}

TEST(Ring, ThrowsWhatTheWorkerThrewAtItsTicket) {
  for (const int workers : {0, 1, 3}) {
    Ring ring(workers, 3, [&](std::int64_t ticket, std::size_t) {
      if (ticket == 5) throw std::runtime_error("no such sample");
    });
    ring.start(20);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(ring.next());
    EXPECT_THROW(ring.next(), std::runtime_error);
    EXPECT_EQ(ring.next(), std::nullopt);  // the rest is abandoned
    ring.start(5);                         // and the next round works
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(ring.next());
    EXPECT_EQ(ring.next(), std::nullopt);
  }
}

// If the sleep were not cut short, this would hang for hours.
TEST(Ring, CancellingCutsSleepsShort) {
  std::atomic<bool> slow{true}, cut_short{false};
  std::promise<void> sleeping;
  Ring ring(1, 2, [&](std::int64_t, std::size_t) {
    if (!slow) return;
    sleeping.set_value();
    cut_short = !ring.sleep_unless_cancelled(very_long);
  });
  ring.start(10);
  sleeping.get_future().wait();
  ring.cancel();
  EXPECT_TRUE(cut_short);
  slow = false;
  ring.start(2);
  EXPECT_TRUE(ring.next());
  EXPECT_TRUE(ring.next());
  EXPECT_EQ(ring.next(), std::nullopt);
}

TEST(Ring, DestructionDoesNotWaitForSleepers) {
  std::atomic<int> sleepers{0};
  std::promise<void> all_asleep;
  {
    Ring ring(3, 4, [&](std::int64_t, std::size_t) {
      if (++sleepers == 3) all_asleep.set_value();
      ring.sleep_unless_cancelled(core::Seconds(1e300));  // beyond what any clock counts
    });
    ring.start(10);
    all_asleep.get_future().wait();
  }
  EXPECT_EQ(sleepers, 3);
}

TEST(Ring, SleepsTheWholeTimeOtherwise) {
  constexpr core::Seconds nap{0.002};
  bool whole = false;
  Ring ring(0, 1, [&](std::int64_t, std::size_t) { whole = ring.sleep_unless_cancelled(nap); });
  const auto begin = std::chrono::steady_clock::now();
  ring.start(1);
  ring.next();
  EXPECT_TRUE(whole);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, nap);
}

}  // namespace
}  // namespace sweetspot::data
