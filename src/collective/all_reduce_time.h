#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace sweetspot::collective {

// The link between ranks: a message of n bytes takes latency + n / bandwidth.
struct Link {
  double latency_seconds = 0, bytes_per_second = 0;
};

// An all-reduce by recursive halving and doubling (Rabenseifner), which libraries choose for all
// but the smallest and largest: ⌈log2 ranks⌉ messages each way, and every byte except a rank's own
// twice.
double all_reduce_seconds(const Link& link, std::int64_t ranks, double bytes);

// A measured one.
struct AllReduceTime {
  std::int64_t ranks = 2;
  double bytes = 0, seconds = 0;
};
// The link by least squares of relative errors, so that small messages count as much as large ones.
// nullopt below two sizes, or if time does not grow with them.
std::optional<Link> fit_link(std::span<const AllReduceTime> times);

// When the gradient sums are complete, in seconds after the end of backward. Backward completes
// `buckets` of equal size at equal distances, and the all-reduce of each starts when it is complete
// and the previous one is done.
double exposed_seconds(double backward_seconds, std::int64_t buckets, double bucket_seconds);

}  // namespace sweetspot::collective
