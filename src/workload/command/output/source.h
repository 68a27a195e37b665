#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/command/output/progress_bars.h"

namespace sweetspot::workload::command::output {

// The purpose of a bar, as far as its description says.
enum class Purpose : std::uint8_t {
  training,  // it says so
  unsaid,
  epochs,  // around the training's own bars
  other,   // validation, tests, downloads, data preparation
};
Purpose purpose_of(std::string_view description);

// The description without what changes between refreshes: words with digits become '#'.
std::string fixed_part(std::string_view description);

// Names where steps were read. Several frameworks print plain tqdm bars: their other output
// distinguishes them.
class Source {
 public:
  void read_line(std::string_view text);
  std::string name(const Refresh& refresh, std::string_view text) const;

 private:
  bool hf_trainer_ = false;
  bool lightning_ = false;
};

}  // namespace sweetspot::workload::command::output
