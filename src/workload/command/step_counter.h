#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trial/trial.h"
#include "workload/command/output/reader.h"

namespace sweetspot::workload::command {

// The increment of a sample counter: a program that trains on 64 at a time counts in multiples of
// 64, however rarely it prints. The last step of an epoch may be short.
class SampleStride {
 public:
  void add(std::int64_t samples);
  // The largest number that nearly all rises are multiples of; nullopt if there is none.
  std::optional<std::int64_t> value() const;
  // The rise of at least half of them, where each is one step; else value().
  std::optional<std::int64_t> of_most_steps() const;

 private:
  std::map<std::int64_t, std::int64_t> rises_;  // how often each was seen
  std::int64_t count_ = 0;
};

// Converts the movement of the program's counter into steps. If several micro-batches make an
// update, a bar is assumed to count those, because it is drawn around the loader; the bar of
// Hugging Face's Trainer and a user's expression count updates.
class Counted {
 public:
  // `ranks`: this many processes each train on as many samples as one of them counts.
  explicit Counted(const trial::Setting& setting, int ranks = 1)
      : setting_(setting), ranks_(ranks) {}

  // What was read at once is one step: if we read late, the times within it mean nothing.
  std::optional<trial::Step> add(const std::vector<output::Advance>& advances,
                                 const output::Counter& counter);
  // Weight updates done when its counter is at `count`.
  std::int64_t updates_at(std::int64_t count, const output::Counter& counter) const;
  // If samples are counted: the increment of that count.
  std::optional<std::int64_t> sample_stride() const { return stride_.value(); }

 private:
  std::optional<trial::Step> whole_updates();

  trial::Setting setting_;
  int ranks_;
  SampleStride stride_;
  double seconds_ = 0;              // of micro-batches
  std::int64_t micro_batches_ = 0;  // that have not made an update yet
};

}  // namespace sweetspot::workload::command
