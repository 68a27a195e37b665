#pragma once
#include <cstdint>
#include <map>
#include <optional>

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

}  // namespace sweetspot::workload::command
