#define PCRE2_CODE_UNIT_WIDTH 8
#include "workload/command/output/steps_regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"

namespace sweetspot::workload::command::output {
namespace {

// A line is at most 4 KiB: an honest expression needs a small part of this, and one that backtracks
// without end costs milliseconds, not hours.
constexpr std::uint32_t most_match_calls = 200'000;
constexpr std::uint32_t most_heap_kib = 1024;
constexpr int most_costly_lines = 100;

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

std::unique_ptr<pcre2_code, Free> compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  std::unique_ptr<pcre2_code, Free> code(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!code)
    throw core::InputError(fmt::format("--steps-regex '{}' is wrong at character {}: {}",
                                       core::printable(pattern), offset + 1, message_of(error)));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // faster where the machine allows it
  return code;
}

}  // namespace

struct StepsRegex::State {
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_data, Free> match;
  std::unique_ptr<pcre2_match_context, Free> context;
  std::uint32_t groups = 0;
  Counts counts = Counts::updates;
  std::int64_t matches = 0;
  int costly_lines = 0;

  // Where the match at or after `from` begins and ends, groups included; nullptr for none.
  const PCRE2_SIZE* find(std::string_view line, std::size_t from) {
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()),
                                  line.size(), from, 0, match.get(), context.get());
    if (found < PCRE2_ERROR_PARTIAL) ++costly_lines;  // a limit; the lesser ones are "no match"
    return found > 0 ? pcre2_get_ovector_pointer(match.get()) : nullptr;
  }

  std::optional<std::int64_t> value(std::string_view line, const PCRE2_SIZE* where) {
    if (groups == 0) return ++matches;
    if (where[2] == PCRE2_UNSET || where[3] < where[2]) return std::nullopt;
    const std::string_view text = trimmed(line.substr(where[2], where[3] - where[2]));
    if (!text.empty() && is_digit(text.front()))  // "1,200"
      if (const Number number = read_number(text, 0); number.kind == Number::Kind::whole)
        if (number.digits_end == text.size()) return number.value;
    return Cursor(text).take_count();
  }
};

StepsRegex::StepsRegex(const std::string& pattern) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.code = compile(pattern);
  state.match.reset(pcre2_match_data_create_from_pattern(state.code.get(), nullptr));
  state.context.reset(pcre2_match_context_create(nullptr));
  if (!state.match || !state.context)
    throw core::MachineError("there is no memory for --steps-regex; free some and try again");
  pcre2_set_match_limit(state.context.get(), most_match_calls);
  pcre2_set_heap_limit(state.context.get(), most_heap_kib);
  pcre2_pattern_info(state.code.get(), PCRE2_INFO_CAPTURECOUNT, &state.groups);
  if (state.groups > 1)
    throw core::InputError(fmt::format(
        "--steps-regex '{}' has {} groups, and one is the counter; write the others as (?:…)",
        core::printable(pattern), state.groups));
  constexpr auto name = "samples";
  if (pcre2_substring_number_from_name(state.code.get(), reinterpret_cast<PCRE2_SPTR>(name)) > 0)
    state.counts = Counts::samples;
  if (state.find("", 0) != nullptr)
    throw core::InputError(
        fmt::format("--steps-regex '{}' matches an empty line; make it match what a step prints",
                    core::printable(pattern)));
}

StepsRegex::~StepsRegex() = default;
StepsRegex::StepsRegex(StepsRegex&&) noexcept = default;
StepsRegex& StepsRegex::operator=(StepsRegex&&) noexcept = default;

void StepsRegex::read(std::string_view line, const std::function<void(std::int64_t count)>& found) {
  for (std::size_t from = 0; from < line.size() && !gave_up();) {
    const PCRE2_SIZE* where = state_->find(line, from);
    if (where == nullptr || where[1] <= where[0]) return;  // an empty match shows no step
    from = where[1];
    if (const auto count = state_->value(line, where)) found(*count);
  }
}

Counts StepsRegex::counts() const { return state_->counts; }

bool StepsRegex::gave_up() const { return state_->costly_lines >= most_costly_lines; }

}  // namespace sweetspot::workload::command::output
