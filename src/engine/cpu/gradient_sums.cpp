#include "engine/cpu/gradient_sums.h"

#include <algorithm>
#include <chrono>

namespace sweetspot::engine::cpu {

using Clock = std::chrono::steady_clock;

GradientSums::GradientSums(const Ranks& ranks, float* gradients, std::int64_t floats)
    : ranks_(ranks), gradients_(gradients) {
  const std::int64_t most = round_up(
      std::max<std::int64_t>(static_cast<std::int64_t>(ranks.bucket_bytes / sizeof(float)), 1),
      unit);
  for (std::int64_t end = floats; end > 0; end -= most)
    buckets_.push_back({std::max<std::int64_t>(end - most, 0), end});
  tickets_.reserve(buckets_.size());
}

void GradientSums::begin(const StepResult& part) {
  tickets_.clear();
  waited_ = core::Seconds(0);
  result_ = {static_cast<float>(part.loss), static_cast<float>(part.correct),
             ranks_.stop && *ranks_.stop != 0 ? 1.f : 0.f};
  result_ticket_ = ranks_.group->begin_all_reduce(result_);
}

void GradientSums::made(std::int64_t from) {
  while (tickets_.size() < buckets_.size() && buckets_[tickets_.size()].begin >= from) {
    const Range& bucket = buckets_[tickets_.size()];
    tickets_.push_back(ranks_.group->begin_all_reduce(
        {gradients_ + bucket.begin, static_cast<std::size_t>(bucket.end - bucket.begin)}));
  }
}

const Range& GradientSums::wait(std::size_t bucket) {
  const auto start = Clock::now();
  if (bucket == 0) ranks_.group->wait(result_ticket_);
  ranks_.group->wait(tickets_[bucket]);
  waited_ += Clock::now() - start;
  return buckets_[bucket];
}

void GradientSums::finish(StepResult& result) const {
  result.loss = static_cast<double>(result_[loss]);
  result.correct = static_cast<std::int64_t>(result_[correct]);
  result.stops = result_[stops] > 0;
  result.reduction_wait += waited_;
}

}  // namespace sweetspot::engine::cpu
