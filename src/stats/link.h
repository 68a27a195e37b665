#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace sweetspot::stats {

// What connects ranks: a message of n bytes takes latency + n / bandwidth.
struct Link {
  double latency_seconds = 0, bytes_per_second = 0;
};

// An all-reduce by recursive halving and doubling (Rabenseifner), which libraries choose for all
// but the smallest and largest: ⌈log2 ranks⌉ messages each way, and every byte but a rank's own
// twice.
double all_reduce_seconds(const Link& link, std::int64_t ranks, double bytes);

// One that was measured.
struct AllReduceTime {
  std::int64_t ranks = 2;
  double bytes = 0, seconds = 0;
};
// The link by least squares of relative errors, so that small messages count as much as large
// ones. Nothing below two sizes, or where time does not grow with them.
std::optional<Link> fit_link(std::span<const AllReduceTime> times);

// When the sums of gradients are there, in seconds after backward's end. Backward makes `buckets`
// of equal size at equal distances, and each is summed as soon as it is made and the one before it
// is done.
double exposed_seconds(double backward_seconds, std::int64_t buckets, double bucket_seconds);

}  // namespace sweetspot::stats
