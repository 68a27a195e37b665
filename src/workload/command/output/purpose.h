#pragma once
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace sweetspot::workload::command::output
