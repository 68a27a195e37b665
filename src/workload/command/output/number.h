#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sweetspot::workload::command::output {

// A number in a line, with what belongs to it: "20", "1,200", "20/100", "20 of 100".
struct Number {
  enum class Kind : std::uint8_t {
    whole,    // may count something
    decimal,  // a metric: "0.31", "1e-3", "20%", "12ms"
    other,    // clocks, dates, versions, file names, negative numbers
  };
  Kind kind = Kind::other;
  bool percent = false;
  bool has_point = false;          // "2.000" may count, and is usually a metric
  std::size_t begin = 0, end = 0;  // including the total
  std::size_t digits_end = 0;      // of the number alone
  std::int64_t value = 0;
  std::optional<std::int64_t> total = {};
};

// `at` is the first of a run of digits.
Number read_number(std::string_view text, std::size_t at);

}  // namespace sweetspot::workload::command::output
