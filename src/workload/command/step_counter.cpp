#include "workload/command/step_counter.h"

#include <numeric>
#include <set>

namespace sweetspot::workload::command {
namespace {

constexpr std::size_t most_kept = 64;  // different rises: more of them add nothing

}  // namespace

void SampleStride::add(std::int64_t samples) {
  if (samples < 1) return;
  const auto found = rises_.find(samples);
  if (found == rises_.end() && rises_.size() >= most_kept) return;
  ++rises_[samples], ++count_;
}

std::optional<std::int64_t> SampleStride::value() const {
  constexpr double nearly_all = 0.8;
  std::set<std::int64_t> candidates;
  for (const auto& [a, times] : rises_)
    for (const auto& [b, times_too] : rises_) candidates.insert(std::gcd(a, b));
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
    std::int64_t multiples = 0;
    for (const auto& [rise, times] : rises_)
      if (rise % *candidate == 0) multiples += times;
    if (static_cast<double>(multiples) < nearly_all * static_cast<double>(count_)) continue;
    // Any numbers are multiples of 1.
    if (*candidate == 1 && !rises_.contains(1)) return std::nullopt;
    return *candidate;
  }
  return std::nullopt;
}

std::optional<std::int64_t> SampleStride::of_most_steps() const {
  for (auto rise = rises_.rbegin(); rise != rises_.rend(); ++rise)
    if (2 * rise->second >= count_) return rise->first;
  return value();
}

std::optional<trial::Step> Counted::add(const std::vector<output::Advance>& advances,
                                        const output::Counter& counter) {
  output::Advance all;
  for (const output::Advance& advance : advances) {
    all.seconds += advance.seconds;
    all.updates += advance.updates;
    all.samples += advance.samples * ranks_;
    stride_.add(advance.samples * ranks_);
  }
  if (setting_.accumulation > 1 && !counter.counts_weight_updates) {
    seconds_ += all.seconds;
    micro_batches_ += all.updates + all.samples / setting_.micro_batch();
    return whole_updates();
  }
  trial::Step step;
  step.seconds = all.seconds;
  step.updates = all.updates;
  step.samples = all.updates * setting_.batch;
  if (all.samples > 0) {
    step.samples = all.samples;
    step.updates = (all.samples + setting_.batch - 1) / setting_.batch;
  }
  if (step.seconds <= 0 || step.updates <= 0) return std::nullopt;
  return step;
}

std::int64_t Counted::updates_at(std::int64_t count, const output::Counter& counter) const {
  if (counter.counts_samples) return count / setting_.batch;
  return counter.counts_weight_updates ? count : count / setting_.accumulation;
}

// A bar is redrawn by time, in the middle of an update: the remainder waits for the next, with its
// share of the time.
std::optional<trial::Step> Counted::whole_updates() {
  trial::Step step;
  step.updates = micro_batches_ / setting_.accumulation;
  if (step.updates == 0 || seconds_ <= 0) return std::nullopt;
  const std::int64_t taken = step.updates * setting_.accumulation;
  step.samples = step.updates * setting_.batch;
  step.seconds = seconds_ * static_cast<double>(taken) / static_cast<double>(micro_batches_);
  seconds_ -= step.seconds;
  micro_batches_ -= taken;
  return step;
}

}  // namespace sweetspot::workload::command
