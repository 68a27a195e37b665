#include "workload/command/output/counters.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace sweetspot::workload::command::output {
namespace {

// A counter that moved alone this often counts steps; one that starts under it is an evaluation.
constexpr int rises_of_a_step_counter = 2;
// One of the same kind that restarts while the leader is gone has taken over.
constexpr int starts_to_take_over = 2;
// A plain line without a total may be anything: it is accepted slightly later, and loses nothing by
// it.
constexpr int rises_without_total = 2;
constexpr int rises_of_samples_without_total = 3;
// A list of stages has few entries, and what follows it has many.
constexpr int most_stages = 4;
constexpr int rises_after_stages = 8;
// A bar that did not move for this many rises of a line's counter is over.
constexpr int rises_beside_a_dead_bar = 8;
// A counter that moves several times in each of this many intervals of the leader is the finer one.
constexpr int intervals_to_be_finer = 3;
// Once may be a bar that was left unfinished.
constexpr int rises_of_another_thread = 3;

std::uint64_t identity_of(const Refresh& refresh) {
  std::string text = fixed_part(refresh.description);
  text += static_cast<char>('0' + static_cast<int>(refresh.format));
  text += static_cast<char>('0' + static_cast<int>(refresh.counts));
  text += std::to_string(refresh.total.value_or(-1));
  return std::hash<std::string>{}(text);
}

}  // namespace

bool Counters::see(const Refresh& refresh, double at_seconds) {
  ++now_;
  const Purpose purpose = purpose_of(refresh.description);
  if (purpose == Purpose::epochs || refresh.counts == Counts::epochs) return false;
  const std::uint64_t identity = identity_of(refresh);
  if (purpose == Purpose::other || refresh.counts == Counts::something_else) {
    if (!runs_beside(identity, refresh.count)) interruption_ = now_;
    return false;
  }
  Series* known = find(identity);
  const bool is_new = known == nullptr;
  Series& series = is_new ? add({.identity = identity,
                                 .format = refresh.format,
                                 .counts = refresh.counts,
                                 .purpose = purpose,
                                 .total = refresh.total,
                                 .count = refresh.count},
                                at_seconds)
                          : *known;
  const std::uint64_t seen_before = series.seen_last;
  const std::int64_t count =
      refresh.whole_epoch && !is_new ? series.count + refresh.count : refresh.count;
  const Move moved = move(series, count, is_new);
  if (moved.rose) last_rise_ = now_;
  const std::uint64_t boundary =
      refresh.whole_epoch ? interruption_ : std::max(interruption_, pause_);
  if (moved.started || refresh.after_validation || seen_before < boundary)
    leave_out(series, moved, at_seconds);
  if (!leads(series, moved)) return false;
  told_ = {series.format, series.counts, series.total, series.weight_updates, {},
           series.count,  series.untimed};
  if (series.count > series.mark_count) advance(series, at_seconds);
  return true;
}

bool Counters::see(const LogLine& line, double at_seconds) {
  ++now_;
  if (line.environment) environment_ = true;
  if (environment_) return false;
  if (line.is_of_something_else()) {
    interruption_ = now_;
    const bool is_heading = line.evaluates && line.size == 0 && line.evaluation_metrics == 0 &&
                            line.training_metrics == 0;
    evaluation_begins_ = is_heading && leader_ != 0;
    return false;
  }
  if (line.evaluation != 0 && std::exchange(evaluation_, line.evaluation) != line.evaluation)
    interruption_ = now_;
  if (line.saves && line.training_metrics == 0) {
    pause_ = now_;
    return false;
  }
  if (line.size == 0) {
    if (line.trains || line.epoch) evaluation_begins_ = false;
    if (line.epoch && line.epoch != std::exchange(epoch_, line.epoch)) pause_ = now_;
    return false;
  }
  Series* best = nullptr;
  Move best_move;
  bool leader_is_here = false;
  const auto is_better = [&](const Series& series, const Move& moved) {
    if (best == nullptr) return true;
    const bool updates = series.counts == Counts::updates;
    if (updates != (best->counts == Counts::updates)) return updates;
    return moved.by > best_move.by;
  };
  bool any_rose = false;
  // A new series may move the others in memory: create all of them first.
  for (const LineCounter& counter : line.counters())
    if (find(counter.identity) == nullptr)
      add({.identity = counter.identity,
           .format = Format::log_line,
           .counts = counter.counts,
           .purpose = line.trains ? Purpose::training : Purpose::unsaid,
           .total = counter.total,
           .weight_updates = counter.weight_updates,
           .count = counter.count,
           .epoch = line.epoch},
          at_seconds);
  for (const LineCounter& counter : line.counters()) {
    Series* found = find(counter.identity);
    if (found == nullptr) continue;  // evicted by too many others
    Series& series = *found;
    const std::uint64_t seen_before = series.seen_last;
    if (seen_before == now_) continue;  // twice in the line
    const Move moved = move(series, counter.count, seen_before == 0);
    any_rose = any_rose || moved.rose;
    if (passes_boundary(series, line, moved, seen_before)) leave_out(series, moved, at_seconds);
    if (series.of_evaluation) {
      interruption_ = now_;
      continue;
    }
    if (series.wild) continue;
    if (series.born == leader_) {
      best = &series;
      best_move = moved;
      leader_is_here = true;
    } else if (moved.rose && !leader_is_here && is_better(series, moved)) {
      best = &series;
      best_move = moved;
    }
  }
  if (any_rose) last_rise_ = now_;
  if (best == nullptr || !leads(*best, best_move)) return false;
  note_leader(*best, line);
  if (best->count > best->mark_count) advance(*best, at_seconds);
  return true;
}

// A validation's bar starts and ends between two steps; one that keeps rising after a step as if
// there had been none belongs to another thread, and the step's time is the training's.
bool Counters::runs_beside(std::uint64_t identity, std::int64_t count) {
  auto other = std::find_if(others_.begin(), others_.end(),
                            [identity](const Other& one) { return one.identity == identity; });
  if (other == others_.end()) {
    if (others_.size() == most_others) others_.erase(others_.begin());
    others_.push_back({identity, count, now_, 0});
    return false;
  }
  if (count < other->count)
    other->rises_over_steps = 0;
  else if (count > other->count && last_rise_ > other->seen_last)
    ++other->rises_over_steps;
  other->count = count;
  other->seen_last = now_;
  return other->rises_over_steps >= rises_of_another_thread;
}

Counters::Move Counters::move(Series& series, std::int64_t count, bool is_new) {
  Move moved{.started = is_new || count < series.count,
             .rose = !is_new && count > series.count,
             .by = is_new ? 0 : count - series.count};
  moved.rose_alone = moved.rose && is_alone(series);
  // A counter that restarts begins where it began, or near zero.
  if (!is_new && moved.started && series.is_line() &&
      count > std::max(series.first_count, series.longest_rise))
    series.wild = true;
  series.longest_rise = std::max(series.longest_rise, moved.by);
  series.first_count = std::min(series.first_count, count);
  series.count = count;
  series.seen_last = now_;
  if (moved.rose_alone) ++series.rises;
  if (moved.rose) {
    ++series.rises_since_leader;
    series.rose_before = std::exchange(series.rose_last, now_);
  }
  return moved;
}

// Whether nothing else has risen since the series was last seen. Several lines may be printed per
// step, and each of them counts it once.
bool Counters::is_alone(const Series& series) const {
  if (!series.is_line()) return last_rise_ <= series.seen_last;
  return std::none_of(all_.begin(), all_.end(), [&series](const Series& other) {
    const std::uint64_t since = other.is_line() ? other.rose_before : other.rose_last;
    return &other != &series && since > series.seen_last;
  });
}

// Whether there was anything but training since the series was last seen.
bool Counters::passes_boundary(Series& series, const LogLine& line, const Move& moved,
                               std::uint64_t seen_before) {
  if (moved.started)
    series.of_evaluation = std::exchange(evaluation_begins_, false);
  else if (moved.rose && series.born == leader_)
    evaluation_begins_ = false;
  const bool new_epoch = line.epoch && series.epoch && line.epoch != series.epoch;
  if (line.epoch) series.epoch = line.epoch;
  const bool paused = seen_before < pause_;
  // What comes with every line is part of what it counts.
  const bool epoch_now = new_epoch && !std::exchange(series.new_epoch_before, new_epoch);
  const bool pause_now = paused && !std::exchange(series.paused_before, paused);
  if (!new_epoch) series.new_epoch_before = false;
  if (!paused) series.paused_before = false;
  return moved.started || seen_before < interruption_ || epoch_now || pause_now;
}

Counters::Series* Counters::leading() {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [this](const Series& one) { return one.born == leader_; });
  return found == all_.end() ? nullptr : &*found;
}

bool Counters::leads(Series& series, const Move& moved) {
  Series* leader = leader_ == 0 ? nullptr : leading();
  if (leader != nullptr && leader->wild) leader = nullptr;
  const auto take_over = [&] {
    leader_ = series.born;
    for (Series& one : all_) one.rises_since_leader = one.intervals_filled = 0;
    return true;
  };
  if (leader == nullptr) {
    const bool plain = series.is_line() && !series.total;
    const int needed = !plain                             ? 1
                       : series.counts == Counts::samples ? rises_of_samples_without_total
                                                          : rises_without_total;
    return moved.rose_alone && series.rises >= needed && take_over();
  }
  if (leader == &series) {
    for (Series& one : all_) {
      one.starts_without_leader = 0;
      if (!moved.rose || &one == &series) continue;
      one.intervals_filled = one.rises_since_leader > 1 ? one.intervals_filled + 1 : 0;
      one.rises_since_leader = 0;
    }
    return true;
  }
  if (moved.rose && series.born == deposed_) {
    deposed_ = 0;
    leader->of_evaluation = true;  // then it was no list of stages: the other came in between
    return take_over();
  }
  return leads_over(*leader, series, moved) && take_over();
}

bool Counters::leads_over(Series& leader, Series& series, const Move& moved) {
  if (series.purpose == Purpose::training && leader.purpose == Purpose::unsaid &&
      moved.rose_alone && series.is_line() == leader.is_line())
    return true;
  // A plain line may count anything; a bar is drawn for something long.
  if (leader.is_line() && !series.is_line() && moved.rose_alone) return true;
  if (series.is_line()) {
    if (leader.is_line()) {
      const bool may_be_stages = leader.longest_rise == 1 && leader.rises <= most_stages &&
                                 leader.first_count <= 1 && !leader.total;
      if (may_be_stages && series.rises_since_leader >= rises_after_stages) {
        deposed_ = leader.born;
        return true;
      }
      if (series.intervals_filled >= intervals_to_be_finer) return true;
      if (moved.rose && series.rises_since_leader > 1) interruption_ = now_;
      return false;
    }
    return series.rises_since_leader >=
           (leader.finished() ? rises_without_total : rises_beside_a_dead_bar);
  }
  if (leader.finished()) {
    if (moved.started) ++series.starts_without_leader;
    // Of two unlabelled bars, the longer is the training and the shorter its test.
    if (moved.rose_alone && series.total > leader.total) return true;
    // Data is prepared sample by sample, and trained in batches.
    if (leader.counts == Counts::samples && series.counts == Counts::updates &&
        series.rises_since_leader >= rises_beside_a_dead_bar)
      return true;
    return series.starts_without_leader >= starts_to_take_over;
  }
  const bool is_inner = series.born > leader.born;
  if (is_inner && (moved.started || moved.rose) && leader.rises >= rises_of_a_step_counter)
    interruption_ = now_;
  return false;
}

// Samples and totals in the leader's line belong to it.
void Counters::note_leader(const Series& series, const LogLine& line) {
  const std::optional<double> samples_per_step = told_.samples_per_step;
  told_ = {series.format,    series.counts, series.total,  series.weight_updates,
           samples_per_step, series.count,  series.untimed};
  const std::int64_t count_before = std::exchange(told_count_, series.count);
  const std::int64_t risen = series.count - count_before;
  for (const LineCounter& counter : line.counters()) {
    if (counter.counts == Counts::updates && !told_.total) told_.total = counter.total;
    if (series.counts != Counts::updates || counter.counts != Counts::samples) continue;
    const std::int64_t samples = counter.count - std::exchange(told_samples_, counter.count);
    if (count_before > 0 && risen > 0 && samples > 0)
      told_.samples_per_step = static_cast<double>(samples) / static_cast<double>(risen);
    break;
  }
}

void Counters::advance(Series& series, double at_seconds) {
  const std::int64_t risen = series.count - series.mark_count;
  const std::int64_t updates = series.counts == Counts::updates ? risen : 0,
                     samples = risen - updates;
  if (at_seconds > series.mark_seconds) {
    advances_.push_back({at_seconds - series.mark_seconds, updates, samples});
  } else if (!series.advanced) {
    // Still the moment of the first refresh: the mark advances.
  } else if (!advances_.empty()) {  // more of the same moment, as with block-buffered output
    advances_.back().updates += updates;
    advances_.back().samples += samples;
  } else {
    return;  // already taken: these count with the next
  }
  series.advanced = series.advanced || at_seconds > series.mark_seconds;
  series.mark_seconds = std::max(series.mark_seconds, at_seconds);
  series.mark_count = series.count;
}

void Counters::mark(Series& series, double at_seconds) {
  series.mark_count = series.count;
  series.mark_seconds = at_seconds;
  series.advanced = false;
}

// The time since the mark is not only that of steps, but they were made.
void Counters::leave_out(Series& series, const Move& move, double at_seconds) {
  if (move.rose)
    series.untimed += series.count - series.mark_count;
  else if (series.rises > 0)  // it began again
    series.untimed += std::min(series.count, series.longest_rise);
  mark(series, at_seconds);
}

Counters::Series* Counters::find(std::uint64_t identity) {
  const auto found = std::find_if(
      all_.begin(), all_.end(), [identity](const Series& one) { return one.identity == identity; });
  return found == all_.end() ? nullptr : &*found;
}

Counters::Series& Counters::add(const Series& series, double at_seconds) {
  if (all_.size() == most_series) {
    const auto oldest =
        std::min_element(all_.begin(), all_.end(), [this](const Series& left, const Series& right) {
          return std::pair(left.born == leader_, left.seen_last) <
                 std::pair(right.born == leader_, right.seen_last);
        });
    all_.erase(oldest);
  }
  all_.push_back(series);
  Series& added = all_.back();
  added.born = ++births_;
  added.first_count = series.count;
  mark(added, at_seconds);
  return added;
}

std::vector<Advance> Counters::take() { return std::exchange(advances_, {}); }

}  // namespace sweetspot::workload::command::output
