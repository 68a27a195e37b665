#include "collective/contract.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace sweetspot::tests {
namespace {

using collective::Group;

// Numbers unique to a rank whose sum depends on the order of addition.
std::vector<float> numbers(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(rank + 1)) / 3;
  return values;
}

std::vector<double> exact_sum(int ranks, std::size_t count) {
  std::vector<double> sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = numbers(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(values[i]);
  }
  return sum;
}

void expect_sum(const std::vector<float>& values, int ranks) {
  const std::vector<double> sum = exact_sum(ranks, values.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(values[i]) - sum[i]));
  EXPECT_LE(worst, 1e-7 * ranks);
}

TEST_P(GroupContract, RanksAreNumbered) {
  const Kind& kind = GetParam();
  on_each([&](Group& group) {
    EXPECT_EQ(group.size(), kind.ranks);
    EXPECT_GE(group.local_size(), 1);
    // Each rank exists once: the sum and sum of squares of their numbers are those of 0, 1, 2, …
    std::vector<double> seen{static_cast<double>(group.rank()),
                             static_cast<double>(group.rank()) * group.rank()};
    group.sum(seen);
    double sum = 0, squares = 0;
    for (int rank = 0; rank < kind.ranks; ++rank) sum += rank, squares += rank * rank;
    EXPECT_EQ(seen, (std::vector<double>{sum, squares}));
  });
}

TEST_P(GroupContract, AllReduceSumsAnySize) {
  on_each([](Group& group) {
    for (const std::size_t count : {1u, 7u, 16u, 1000u, 65'537u, 300'000u}) {
      std::vector<float> values = numbers(group.rank(), count);
      group.all_reduce(values);
      expect_sum(values, group.size());
    }
  });
}

TEST_P(GroupContract, EveryRankGetsTheSameBits) {
  on_each([](Group& group) {
    std::vector<float> values = numbers(group.rank(), 10'000);
    group.all_reduce(values);
    std::vector<float> of_first = values;
    group.broadcast(of_first, 0);
    EXPECT_EQ(std::memcmp(values.data(), of_first.data(), values.size() * sizeof(float)), 0)
        << "on rank " << group.rank();
  });
}

TEST_P(GroupContract, ManyReductionsMayBeUnderWay) {
  on_each([](Group& group) {
    std::vector<std::vector<float>> buckets;
    for (std::size_t i = 0; i < 100; ++i) buckets.push_back(numbers(group.rank(), 10 + 97 * i));
    for (int round = 0; round < 2; ++round) {
      std::vector<Group::Ticket> tickets;
      for (std::vector<float>& bucket : buckets) tickets.push_back(group.begin_all_reduce(bucket));
      for (const Group::Ticket ticket : tickets) group.wait(ticket);
      for (std::vector<float>& bucket : buckets) {
        expect_sum(bucket, group.size());
        bucket = numbers(group.rank(), bucket.size());
      }
    }
  });
}

TEST_P(GroupContract, SumsOfDoublesKeepTheirDigits) {
  on_each([](Group& group) {
    std::vector<double> values{1e15 + 1 + group.rank(), 60'000'001};
    group.sum(values);
    const int n = group.size();
    EXPECT_EQ(values[0], n * (1e15 + 1) + n * (n - 1) / 2);
    EXPECT_EQ(values[1], 60'000'001.0 * n);
  });
}

TEST_P(GroupContract, BroadcastIsFromAnyRank) {
  on_each([](Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<float> values = numbers(group.rank(), 5000);
      group.broadcast(values, root);
      EXPECT_EQ(values, numbers(root, 5000));
    }
  });
}

// Each rank adds its own number many times, at any time.
TEST_P(GroupContract, SharedFloatsLoseNoChange) {
  on_each([](Group& group) {
    constexpr int times = 50;
    constexpr std::size_t count = 3000;
    const std::vector<float> initial(count, 0.5f), other(count, -1.f);
    const auto shared = group.share(group.rank() == 0 ? initial : other);
    const std::vector<float> change(count, static_cast<float>(1 + group.rank()));
    std::vector<double> stale{0, 0};
    for (int i = 0; i < times; ++i) {
      std::vector<float> read(count);
      const std::uint64_t seen = shared->read(read);
      // A consistent snapshot: all floats are equal.
      EXPECT_THAT(read, testing::Each(read.front()));
      const std::uint64_t before = shared->add(change);
      EXPECT_GE(before, seen);
      stale[0] += static_cast<double>(before);
    }
    group.barrier();
    const int n = group.size();
    std::vector<float> last(count);
    EXPECT_EQ(shared->read(last), static_cast<std::uint64_t>(times * n));
    EXPECT_THAT(last, testing::Each(0.5f + static_cast<float>(times * n * (n + 1) / 2)));
    // Every change had its own number: 0, 1, 2, …
    group.sum(stale);
    EXPECT_EQ(stale[0], times * n * (times * n - 1) / 2);
    group.barrier();
  });
}

}  // namespace
}  // namespace sweetspot::tests
