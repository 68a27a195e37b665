#include "measure/yardstick.h"

#include <gtest/gtest.h>

namespace sweetspot::measure {
namespace {

constexpr trial::MachineSpeed usual{100, 100}, lucky{140, 100}, slow{100, 30};

// Looks every 40 ms.
struct Looks {
  void see(const trial::MachineSpeed& speed, int times) {
    for (int i = 0; i < times; ++i) yardstick.saw(speed, time += 0.04);
  }
  double time = 1000;
  Yardstick yardstick;
};

TEST(Yardstick, ASpeedCountsOnceItWasSeenTwiceInARow) {
  Looks looks;
  looks.see(usual, 1);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 0) << "nothing is known yet";
  looks.see(usual, 1);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 100);
  looks.see(lucky, 1);
  looks.see(usual, 1);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 100);
  looks.see(lucky, 2);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 140);
}

TEST(Yardstick, ASlowSpellChangesNothing) {
  Looks looks{.yardstick = Yardstick(usual)};
  for (int minute = 0; minute < 5; ++minute) {
    looks.see(slow, 100);  // four seconds
    looks.see(usual, 30);
  }
  EXPECT_EQ(looks.yardstick.best().exchange, 100);
}

TEST(Yardstick, AMachineThatIsSlowForGoodIsMeasuredByWhatItShows) {
  Looks looks{.yardstick = Yardstick(lucky)};
  for (int i = 0; i < 40; ++i) looks.see({90, 100}, 1), looks.see(usual, 4);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 100) << "of the faster looks, not of the median";
  looks.see(lucky, 2);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 140) << "it is not slow for good after all";
}

TEST(Yardstick, IsStrictWhereTheMachineIsOftenFree) {
  constexpr trial::MachineSpeed one_shared{90, 100}, much_slower{80, 100};
  Looks looks{.yardstick = Yardstick(usual)};
  EXPECT_TRUE(looks.yardstick.is_slow(one_shared));
  EXPECT_FALSE(looks.yardstick.is_slow({95, 100}));
  for (int i = 0; i < 40; ++i) looks.see(one_shared, 3), looks.see(usual, 1);
  EXPECT_TRUE(looks.yardstick.is_slow(one_shared)) << "a quarter of the time it is free";
  for (int i = 0; i < 40; ++i) looks.see(one_shared, 9), looks.see(usual, 1);
  EXPECT_FALSE(looks.yardstick.is_slow(one_shared)) << "many cores are seldom all free";
  EXPECT_TRUE(looks.yardstick.is_slow(much_slower));
  for (int i = 0; i < 40; ++i) looks.see(slow, 9), looks.see(usual, 1);
  EXPECT_TRUE(looks.yardstick.is_slow(one_shared)) << "cores that are apart are free";
  for (int i = 0; i < 40; ++i) looks.see(usual, 3);
  EXPECT_TRUE(looks.yardstick.is_slow(one_shared));
}

TEST(Yardstick, RareLuckDoesNotHoldTheMachineToIt) {
  Looks looks{.yardstick = Yardstick(lucky)};
  for (int i = 0; i < 10; ++i) looks.see(usual, 19), looks.see(lucky, 1);
  EXPECT_EQ(looks.yardstick.best().arithmetic, 100);
}

}  // namespace
}  // namespace sweetspot::measure
