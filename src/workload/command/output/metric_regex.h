#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "trial/target.h"
#include "workload/command/output/pattern.h"

namespace sweetspot::workload::command::output {

// What a program prints of an accuracy or a loss on its test data: --metric-regex, whose one group
// is the value ("0.987", "98.7%", "1.2e-3"), else the usual ways to print one ("val_accuracy:
// 0.98", "Test loss 0.05").
class MetricRegex {
 public:
  // InputError for an expression that cannot be used.
  MetricRegex(trial::Target::Metric metric, const std::optional<std::string>& regex);
  // The last one in the line. A percentage becomes a share, and so does an accuracy between 1 and
  // 100.
  std::optional<double> read(std::string_view line);

 private:
  trial::Target::Metric metric_;
  Pattern pattern_;
};

}  // namespace sweetspot::workload::command::output
