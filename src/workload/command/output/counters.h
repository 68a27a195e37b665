#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workload/command/output/log_lines.h"
#include "workload/command/output/progress_bars.h"
#include "workload/command/output/reader.h"
#include "workload/command/output/source.h"

namespace sweetspot::workload::command::output {

// Follows every counter that a program prints and takes steps from one of them, the leader: the
// innermost of the training. Their movement shows which one that is.
//  - The first that rises while no other does leads, so that an epoch counter, which moves only
//    after an inner one, never does. Of several in one line it is the fastest.
//  - The time between two lines counts only if nothing but training was seen there: no
//    validation, no checkpoint, no new epoch.
class Counters {
 public:
  // True when the leader was seen.
  bool see(const Refresh& refresh, double at_seconds);
  bool see(const LogLine& line, double at_seconds);
  std::vector<Advance> take();

  struct Leader {
    Format format = Format::tqdm;
    Counts counts = Counts::updates;
    std::optional<std::int64_t> total;
    bool weight_updates = false;
    std::optional<double> samples_per_step;
    std::int64_t count = 0;
    std::int64_t untimed = 0;  // that it rose by around evaluations and pauses
  };
  const Leader& leader() const { return told_; }  // as it was seen last
  bool has_leader() const { return leader_ != 0; }

 private:
  struct Series {
    std::uint64_t identity = 0;
    Format format = Format::tqdm;
    Counts counts = Counts::updates;
    Purpose purpose = Purpose::unsaid;
    std::optional<std::int64_t> total = {};
    bool weight_updates = false;

    std::int64_t count = 0, first_count = 0;
    std::int64_t longest_rise = 0;
    // Where the next Advance begins.
    std::int64_t mark_count = 0;
    double mark_seconds = 0;
    bool advanced = false;  // an Advance ended at the mark
    std::int64_t untimed = 0;
    std::uint64_t born = 0;
    std::uint64_t seen_last = 0;
    std::uint64_t rose_last = 0, rose_before = 0;  // the last rise and the previous one
    int rises = 0;
    int starts_without_leader = 0;
    int rises_since_leader = 0;
    int intervals_filled = 0;  // consecutive leader intervals in which it rose more than once
    std::optional<std::int64_t> epoch = {};
    bool new_epoch_before = false, paused_before = false;
    bool of_evaluation = false;  // it restarted under a heading that said so
    bool wild = false;           // it fell as no counter does

    bool is_line() const { return format == Format::log_line; }
    bool finished() const { return total && count >= *total; }
  };
  struct Move {
    bool started = false, rose = false, rose_alone = false;
    std::int64_t by = 0;
  };
  struct Other {  // a bar that is not the training's
    std::uint64_t identity = 0;
    std::int64_t count = 0;
    std::uint64_t seen_last = 0;
    int rises_over_steps = 0;
  };
  static constexpr std::size_t most_series = 24, most_others = 8;

  bool runs_beside(std::uint64_t identity, std::int64_t count);
  Series* find(std::uint64_t identity);
  Series& add(const Series& series, double at_seconds);
  Series* leading();
  Move move(Series& series, std::int64_t count, bool is_new);
  bool is_alone(const Series& series) const;
  bool leads(Series& series, const Move& move);
  bool leads_over(Series& leader, Series& series, const Move& move);
  bool passes_boundary(Series& series, const LogLine& line, const Move& move,
                       std::uint64_t seen_before);
  void note_leader(const Series& series, const LogLine& line);
  void advance(Series& series, double at_seconds);
  static void mark(Series& series, double at_seconds);
  static void leave_out(Series& series, const Move& move, double at_seconds);

  std::vector<Series> all_;
  std::vector<Other> others_;
  std::uint64_t births_ = 0;
  std::uint64_t leader_ = 0;   // its `born`; 0 for none
  std::uint64_t deposed_ = 0;  // the previous leader, if it was taken for a list of stages
  std::uint64_t now_ = 0;      // refreshes and lines seen
  std::uint64_t last_rise_ = 0;
  std::uint64_t interruption_ = 0;          // when something other than training last moved
  std::uint64_t pause_ = 0;                 // when a checkpoint was last saved, or an epoch ended
  std::optional<std::int64_t> epoch_ = {};  // from lines without a counter
  std::uint64_t evaluation_ = 0;            // the values of the last evaluation metrics
  bool evaluation_begins_ = false;          // a heading said so
  bool environment_ = false;                // episodes were counted: its steps are theirs
  Leader told_;
  std::int64_t told_count_ = 0, told_samples_ = 0;
  std::vector<Advance> advances_;
};

}  // namespace sweetspot::workload::command::output
