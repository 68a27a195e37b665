#include "workload/command/output/bars.h"

#include <algorithm>
#include <utility>

namespace sweetspot::workload::command::output {
namespace {

// A bar that moved this often by itself counts steps; one that opens under it is an evaluation.
constexpr int rises_of_a_step_counter = 2;
// A bar of the same kind that starts again while the leader is gone has taken over.
constexpr int starts_to_take_over = 2;

}  // namespace

bool Bars::see(const Refresh& refresh, double at_seconds) {
  ++now_;
  const Purpose purpose = purpose_of(refresh.description);
  if (purpose == Purpose::epochs || refresh.counts == Counts::epochs) return false;
  if (purpose == Purpose::other || refresh.counts == Counts::something_else) {
    interruption_ = now_;
    return false;
  }
  Bar* known = find(refresh);
  const bool is_new = known == nullptr;
  Bar& bar = is_new ? add(refresh, at_seconds) : *known;
  const std::int64_t count =
      refresh.whole_epoch && !is_new ? bar.count + refresh.count : refresh.count;
  const bool rose = !is_new && count > bar.count, started = is_new || count < bar.count;
  const std::uint64_t seen_before = std::exchange(bar.seen_last, now_);
  const bool rose_alone = rose && last_rise_ <= seen_before;
  bar.count = count;
  if (rose_alone) ++bar.rises;
  if (rose) last_rise_ = now_;
  if (started || refresh.after_validation || seen_before < interruption_) mark(bar, at_seconds);
  if (!leads(bar, started, rose, rose_alone)) return false;
  if (count > bar.mark_count) advance(bar, at_seconds);
  return true;
}

bool Bars::leads(Bar& bar, bool started, bool rose, bool rose_alone) {
  const auto found = std::find_if(bars_.begin(), bars_.end(),
                                  [this](const Bar& one) { return one.born == leader_; });
  const auto take_over = [&] {
    leader_ = bar.born;
    return true;
  };
  if (found == bars_.end()) return rose_alone && take_over();
  Bar& leader = *found;
  if (&leader == &bar) {
    for (Bar& one : bars_) one.starts_without_leader = 0;
    return true;
  }
  if (bar.purpose == Purpose::training && leader.purpose == Purpose::unsaid && rose_alone)
    return take_over();
  // A plain line may have counted anything; a bar is drawn for what takes long.
  if (leader.format == Format::step_line && bar.format != Format::step_line && rose_alone)
    return take_over();
  if (leader.finished()) {
    if (started) ++bar.starts_without_leader;
    // Of two bars that say nothing, the longer is the training and the shorter its test.
    if (rose_alone && bar.total > leader.total) return take_over();
    return bar.starts_without_leader >= starts_to_take_over && take_over();
  }
  const bool is_inner = bar.born > leader.born;
  if (is_inner && (started || rose) && leader.rises >= rises_of_a_step_counter)
    interruption_ = now_;
  return false;
}

void Bars::advance(Bar& bar, double at_seconds) {
  const std::int64_t risen = bar.count - bar.mark_count;
  const std::int64_t updates = bar.counts == Counts::updates ? risen : 0, samples = risen - updates;
  if (at_seconds > bar.mark_seconds) {
    advances_.push_back({at_seconds - bar.mark_seconds, updates, samples});
  } else if (!bar.advanced) {
    // Still the moment of the first refresh: the mark moves on.
  } else if (!advances_.empty()) {  // more of the same moment, as block-buffered output brings it
    advances_.back().updates += updates;
    advances_.back().samples += samples;
  } else {
    return;  // already taken: these count with the next
  }
  bar.advanced = bar.advanced || at_seconds > bar.mark_seconds;
  bar.mark_seconds = std::max(bar.mark_seconds, at_seconds);
  bar.mark_count = bar.count;
}

void Bars::mark(Bar& bar, double at_seconds) {
  bar.mark_count = bar.count;
  bar.mark_seconds = at_seconds;
  bar.advanced = false;
}

Bars::Bar* Bars::find(const Refresh& refresh) {
  const std::string description = fixed_part(refresh.description);
  const auto found = std::find_if(bars_.begin(), bars_.end(), [&](const Bar& bar) {
    return bar.format == refresh.format && bar.counts == refresh.counts &&
           bar.total == refresh.total && bar.description == description &&
           bar.subject == refresh.subject;
  });
  return found == bars_.end() ? nullptr : &*found;
}

Bars::Bar& Bars::add(const Refresh& refresh, double at_seconds) {
  if (bars_.size() == most_bars) {
    const auto oldest =
        std::min_element(bars_.begin(), bars_.end(), [this](const Bar& left, const Bar& right) {
          return std::pair(left.born == leader_, left.seen_last) <
                 std::pair(right.born == leader_, right.seen_last);
        });
    bars_.erase(oldest);
  }
  bars_.push_back({.format = refresh.format,
                   .counts = refresh.counts,
                   .purpose = purpose_of(refresh.description),
                   .description = fixed_part(refresh.description),
                   .subject = std::string(refresh.subject),
                   .total = refresh.total,
                   .count = refresh.count,
                   .born = now_});
  mark(bars_.back(), at_seconds);
  return bars_.back();
}

std::vector<Advance> Bars::take() { return std::exchange(advances_, {}); }

}  // namespace sweetspot::workload::command::output
