#include "workload/command/output/steps_regex.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"
#include "workload/command/output/pattern.h"

namespace sweetspot::workload::command::output {

struct StepsRegex::State {
  explicit State(const std::string& its_pattern) : pattern(its_pattern, "--steps-regex") {}

  Pattern pattern;
  Counts counts = Counts::updates;
  std::int64_t matches = 0;

  std::optional<std::int64_t> value(std::string_view line, const std::size_t* where) {
    if (pattern.groups() == 0) return ++matches;
    if (where[3] < where[2]) return std::nullopt;
    const std::string_view text = trimmed(line.substr(where[2], where[3] - where[2]));
    if (!text.empty() && is_digit(text.front()))  // "1,200"
      if (const Number number = read_number(text, 0); number.kind == Number::Kind::whole)
        if (number.digits_end == text.size()) return number.value;
    return Cursor(text).take_count();
  }
};

StepsRegex::StepsRegex(const std::string& pattern) : state_(std::make_unique<State>(pattern)) {
  if (state_->pattern.groups() > 1)
    throw core::InputError(fmt::format(
        "--steps-regex '{}' has {} groups, and one is the counter; write the others as (?:…)",
        core::printable(pattern), state_->pattern.groups()));
  if (state_->pattern.has_group("samples")) state_->counts = Counts::samples;
  if (state_->pattern.find("", 0) != nullptr)
    throw core::InputError(
        fmt::format("--steps-regex '{}' matches an empty line; make it match what a step prints",
                    core::printable(pattern)));
}

StepsRegex::~StepsRegex() = default;
StepsRegex::StepsRegex(StepsRegex&&) noexcept = default;
StepsRegex& StepsRegex::operator=(StepsRegex&&) noexcept = default;

void StepsRegex::read(std::string_view line, const std::function<void(std::int64_t count)>& found) {
  for (std::size_t from = 0; from < line.size() && !gave_up();) {
    const std::size_t* where = state_->pattern.find(line, from);
    if (where == nullptr || where[1] <= where[0]) return;  // an empty match shows no step
    from = where[1];
    if (const auto count = state_->value(line, where)) found(*count);
  }
}

Counts StepsRegex::counts() const { return state_->counts; }

bool StepsRegex::gave_up() const { return state_->pattern.gave_up(); }

}  // namespace sweetspot::workload::command::output
