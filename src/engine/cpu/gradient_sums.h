#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "collective/group.h"
#include "engine/cpu/op.h"
#include "engine/trainer.h"

namespace sweetspot::engine::cpu {

// Sums the gradients of a batch over the ranks that share it, in buckets from the last layer's
// gradients to the first's. Backward computes them in that order: the all-reduce of a bucket starts
// as soon as its gradients are complete, while those of earlier layers are still being computed.
class GradientSums {
 public:
  // `ranks` must have a group.
  GradientSums(const Ranks& ranks, float* gradients, std::int64_t floats);

  // Called in this order, for each batch, by one thread: this rank's part of the result, which
  // gradients are complete (those from `from` on, down to 0), and each bucket when it is needed.
  void begin(const StepResult& part);
  void made(std::int64_t from);
  std::size_t buckets() const { return buckets_.size(); }
  const Range& wait(std::size_t bucket);

  // After all of it: loss and correct count summed over the ranks, and whether one is to stop.
  void finish(StepResult& result) const;

 private:
  const Ranks ranks_;
  float* gradients_;
  std::vector<Range> buckets_;
  std::vector<collective::Group::Ticket> tickets_;  // of those that have begun
  enum { loss, correct, stops, values };
  std::array<float, values> result_{};
  collective::Group::Ticket result_ticket_ = 0;
  core::Seconds waited_{0};
};

}  // namespace sweetspot::engine::cpu
