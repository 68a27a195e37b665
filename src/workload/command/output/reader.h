#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/output/progress_bars.h"
#include "workload/command/output/regex.h"
#include "workload/command/output/suggestion.h"
#include "workload/out_of_memory.h"

namespace sweetspot::workload::command::output {

// Whether the line shows that the program changed its batch itself, or is set to.
bool shows_changed_batch(std::string_view line);

// Distinguishes Keras' training bars from those of evaluate() and predict(), which look the same:
// only fit() announces "Epoch 1/5" before each. If no epoch was ever announced, every bar counts.
class KerasEpochs {
 public:
  void read_line(std::string_view text);
  // Whether this refresh is of the training. Corrects what old versions count in samples.
  bool admits(Refresh& refresh);

 private:
  bool any_announced_ = false;
  bool announced_ = false;  // and its bar has not begun
  bool in_training_ = false;
  std::optional<std::int64_t> samples_;  // "Train on 60000 samples": the bar counts them
  std::optional<std::int64_t> total_;
  std::int64_t count_ = 0;
};

// What the program's counter did between two moments.
struct Advance {
  double seconds = 0;        // between the two refreshes, by our own clock; above 0
  std::int64_t updates = 0;  // weight updates, if the counter counts those; else 0
  std::int64_t samples = 0;  // samples, if the counter counts those; else 0
};

// A loss next to the counter.
struct LossAt {
  std::int64_t count = 0;  // of updates or samples
  double loss = 0;
};

// What is known of the counter that steps are read from.
struct Counter {
  std::string source =
      {};  // "tqdm bar", "log lines of steps", …; empty before a step was recognised
  bool counts_samples = false;
  bool counts_weight_updates = false;  // and not micro-batches, if several of them make an update
  std::int64_t lines = 0;              // that moved it: log lines or refreshes of a bar, not steps
  std::optional<std::int64_t> total = {};  // steps or samples of an epoch, if printed
  std::int64_t untimed = 0;                // steps or samples around evaluations and pauses
  // Samples printed next to the steps, if both rise: the actual samples per step.
  std::optional<double> samples_per_step = {};
};

struct Findings {
  std::int64_t lines = 0;  // printed by the program; each refresh of a bar is one
  Counter counter;
  std::optional<std::string> changed_batch;    // the line that shows the program changed its batch
  std::optional<std::string> memory_evidence;  // the line that shows it ran out of memory
  MemoryMessage memory_message;                // its values, from all its lines
  bool regex_gave_up = false;  // --steps-regex took too long on too many lines, and stopped
};

// Reads the steps of a training program from its output, one Reader per stream (a terminal, or one
// of two pipes). Memory is bounded for any input, and the result does not depend on how the bytes
// are split as long as each byte comes with the same time.
class Reader {
 public:
  // Without a regular expression every known format is tried; with one it alone counts. InputError
  // for an invalid expression.
  explicit Reader(std::optional<std::string> steps_regex = {});
  // From now on a metric is read too.
  void look_for(MetricRegex metric);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  void feed(std::string_view bytes, double at_seconds);
  std::vector<Advance> take();         // since the last call
  std::vector<LossAt> take_losses();   // likewise
  std::vector<double> take_metrics();  // likewise, if requested
  const Findings& findings() const;
  // For when nothing was recognised; recomputed from the last lines at each call.
  Suggestion suggestion() const;
  // The end of the output: valid UTF-8, no control characters except newlines, bounded.
  std::string last_lines(std::size_t count = 10) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sweetspot::workload::command::output
