#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::workload::command::output {

// The training loss in a line or a bar: "loss: 2.31", "train_loss=0.5", "'loss': 1.2e-3"; not that
// of a validation, and only finite numbers.
std::optional<double> loss_in(std::string_view text);

// A program's losses by step, few enough to be stored at any length: after 1, 2, 5, 10, 20, 50 and
// so on, which runs of different length have in common, and the last one.
class LossCurve {
 public:
  // Steps from 1 on; one that does not rise, as in a second epoch, ends it. A value printed
  // slightly after one of those steps counts for it: bars are redrawn by time.
  void add(std::int64_t step, double loss);
  std::vector<trial::Loss> losses() const;

 private:
  std::vector<trial::Loss> kept_;
  std::optional<trial::Loss> last_;
  std::int64_t next_ = 1;  // to be kept
  bool ended_ = false;
};

}  // namespace sweetspot::workload::command::output
