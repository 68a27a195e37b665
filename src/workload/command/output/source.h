#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/command/output/progress_bars.h"

namespace sweetspot::workload::command::output {

// What a bar is for, as far as its description says.
enum class Purpose : std::uint8_t {
  training,  // it says so
  unsaid,
  epochs,  // around the training's own bars
  other,   // validation, tests, downloads, preparation of data
};
Purpose purpose_of(std::string_view description);

// The description without what changes from refresh to refresh: words with digits become '#'.
std::string fixed_part(std::string_view description);

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
