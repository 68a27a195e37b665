#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sweetspot::workload::command::output {

// What to do about a program whose steps were not recognised.
struct Suggestion {
  enum class Kind : std::uint8_t {
    paste_regex,     // a number rises: this --steps-regex reads it
    validation,      // it rises in lines that look like a validation's: this still reads it
    each_validates,  // a counter rises, and each of its lines comes with a new validation
    epochs_only,     // no number rises except the epoch's
    percent_only,    // or a percentage, without the number of steps
    environment,     // it counts episodes, and its steps are those of an environment
    nothing_rises,   // no number rises at all
    too_few_lines,   // to tell
  };
  Kind kind = Kind::too_few_lines;
  std::string regex = {};                 // of paste_regex and validation; has no single quote
  std::vector<std::int64_t> values = {};  // what it read from the last lines, oldest first
};

// Made from whole lines, oldest first. An expression is offered only after --steps-regex's engine
// has read exactly the intended numbers with it, and nothing from any other line.
Suggestion suggest(const std::vector<std::string>& lines);

}  // namespace sweetspot::workload::command::output
