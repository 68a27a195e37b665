#include "collective/all_reduce_time.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sweetspot::collective {
namespace {

// The number of latencies, and the multiple of its bytes, that an all-reduce takes.
double messages(std::int64_t ranks) {
  return 2 * static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
}
double passes(std::int64_t ranks) {
  return 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

}  // namespace

double all_reduce_seconds(const Link& link, std::int64_t ranks, double bytes) {
  if (ranks < 2) return 0;
  return messages(ranks) * link.latency_seconds + passes(ranks) * bytes / link.bytes_per_second;
}

std::optional<Link> fit_link(std::span<const AllReduceTime> times) {
  // seconds ≈ a·latency + b/bandwidth, each divided by seconds: two normal equations.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const AllReduceTime& t : times) {
    if (t.ranks < 2 || t.seconds <= 0) continue;
    const double a = messages(t.ranks) / t.seconds, b = passes(t.ranks) * t.bytes / t.seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 1e-12 * aa * bb) return std::nullopt;
  const double latency = (a1 * bb - b1 * ab) / determinant;
  const double per_byte = (b1 * aa - a1 * ab) / determinant;
  if (per_byte <= 0) return std::nullopt;
  return Link{std::max(latency, 0.0), 1 / per_byte};
}

double exposed_seconds(double backward_seconds, std::int64_t buckets, double bucket_seconds) {
  double done = 0;
  for (std::int64_t i = 1; i <= buckets; ++i) {
    const double made = backward_seconds * static_cast<double>(i) / static_cast<double>(buckets);
    done = std::max(done, made) + bucket_seconds;
  }
  return std::max(done - backward_seconds, 0.0);
}

}  // namespace sweetspot::collective
