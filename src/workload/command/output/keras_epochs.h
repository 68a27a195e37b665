#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

// Tells Keras' training bars from those of evaluate() and predict(), which look the same: only
// fit() announces "Epoch 1/5" before each. Where no epoch was ever announced every bar counts.
class KerasEpochs {
 public:
  void read_line(std::string_view text);
  // Is this refresh of the training? What old versions count in samples is set right.
  bool admits(Refresh& refresh);

 private:
  bool any_announced_ = false;
  bool announced_ = false;  // and its bar has not begun
  bool in_training_ = false;
  std::optional<std::int64_t> samples_;  // "Train on 60000 samples": the bar counts them
  std::optional<std::int64_t> total_;
  std::int64_t count_ = 0;
};

}  // namespace sweetspot::workload::command::output
