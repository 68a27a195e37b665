#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/command/output/purpose.h"
#include "workload/command/output/reader.h"
#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

// Follows every bar on the screen and takes steps from one of them, the leader: the innermost bar
// of the training. The first that counts while no other does becomes it, so a bar of epochs, whose
// counter moves only after the inner one's, never does.
class Bars {
 public:
  // True when the refresh is one of the leader's.
  bool see(const Refresh& refresh, double at_seconds);
  std::vector<Advance> take();

 private:
  struct Bar {
    Format format;
    Counts counts;
    Purpose purpose;
    std::string description;  // its fixed part
    std::string subject;
    std::optional<std::int64_t> total;

    std::int64_t count = 0;
    // Where the next Advance begins.
    std::int64_t mark_count = 0;
    double mark_seconds = 0;
    bool advanced = false;  // an Advance ended at the mark
    std::uint64_t born = 0;
    std::uint64_t seen_last = 0;
    int rises = 0;
    int starts_without_leader = 0;

    bool finished() const { return total && count >= *total; }
  };
  static constexpr std::size_t most_bars = 16;

  Bar* find(const Refresh& refresh);
  Bar& add(const Refresh& refresh, double at_seconds);
  bool leads(Bar& bar, bool started, bool rose, bool rose_alone);
  void advance(Bar& bar, double at_seconds);
  static void mark(Bar& bar, double at_seconds);

  std::vector<Bar> bars_;
  std::uint64_t leader_ = 0;  // its `born`; 0 for none
  std::uint64_t now_ = 0;     // refreshes seen
  std::uint64_t last_rise_ = 0;
  std::uint64_t interruption_ = 0;  // when something else than training moved last
  std::vector<Advance> advances_;
};

}  // namespace sweetspot::workload::command::output
