#pragma once
#include <string>
#include <string_view>

#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {

// Names where steps were read. Several frameworks print plain tqdm bars: what else they print tells
// them apart.
class Source {
 public:
  void read_line(std::string_view text);
  std::string name(const Refresh& refresh, std::string_view text) const;

 private:
  bool hf_trainer_ = false;
  bool lightning_ = false;
};

}  // namespace sweetspot::workload::command::output
