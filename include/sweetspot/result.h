#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sweetspot {

using Seconds = std::chrono::duration<double>;

// An estimate with its 95% interval.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

// How a trial ended. Running out of memory is a result, not an error.
enum class Outcome { ok, out_of_memory, timed_out, crashed, killed, refused, cancelled };

// One batch size, run once. Unknown values are nullopt, never 0.
struct Trial {
  int batch = 0;
  Outcome outcome = Outcome::ok;
  std::optional<Interval> samples_per_second;
  std::optional<Seconds> step_time;           // the median, of one weight update
  std::optional<std::uint64_t> memory_bytes;  // peak, while it ran
  std::string limited_by;                     // "compute", "step overhead", …; empty: unknown
  std::string note;                           // why it ended as it did, when not ok
  Seconds spent{0};
  bool contended = false;  // other work disturbed it
};

enum class Status {
  found,
  nothing_feasible,  // no batch could be trained; `message` says why
  budget,            // the time was over before the search: the best known answer, if any
  stopped,           // by Options::stop: the best known answer, if any
  store_failed       // for example a full disk; there may still be an answer
};

struct Result {
  Status status = Status::found;
  std::string message;  // why the search ended

  // The answer: all of these are set, or none.
  std::optional<int> batch;
  std::optional<Interval> samples_per_second;
  std::optional<double> throughput_share;     // of the best throughput of any batch, in (0, 1]
  std::optional<std::uint64_t> memory_bytes;  // may be unknown even with an answer
  std::string limited_by;                     // as in Trial
  std::string sentence;                       // "Train with batch 80: …"
  std::vector<std::string> reasons;

  std::vector<Trial> trials;  // in the order in which they were run
  int resumed_trials = 0;     // the first of them, which were already in the store
  Seconds spent{0};           // by this call
  std::string table;          // one row per batch, as markdown
  std::string json;           // all of it: the object that `sweetspot tune --json` prints
};

}  // namespace sweetspot
