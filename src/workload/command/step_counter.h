#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trial/trial.h"
#include "workload/command/output/reader.h"

namespace sweetspot::workload::command {

// By how many samples a count of them rises: whoever trains on 64 at a time counts in multiples of
// 64, however seldom it tells. The last step of an epoch may be a short one.
class SampleStride {
 public:
  void add(std::int64_t samples);
  // The largest number that nearly all rises are multiples of; nothing where there is none.
  std::optional<std::int64_t> value() const;

 private:
  std::map<std::int64_t, std::int64_t> rises_;  // how often each was seen
  std::int64_t count_ = 0;
};

// Turns what the program's counter did into steps. Where several micro-batches make an update, a
// bar is taken to count those, because it is drawn around the loader; the bar of Hugging Face's
// Trainer and an expression of the user's count updates.
class Counted {
 public:
  // `ranks`: so many processes train on each as many samples as one of them counts.
  explicit Counted(const trial::Setting& setting, int ranks = 1)
      : setting_(setting), ranks_(ranks) {}

  // What was read in one go. It is one step: when we came late, the times within tell nothing.
  std::optional<trial::Step> add(const std::vector<output::Advance>& advances,
                                 const output::Counter& counter);
  // Weight updates that have been done when its counter is there.
  std::int64_t updates_at(std::int64_t count, const output::Counter& counter) const;
  // Where samples are counted: by how many that count rises.
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
