#define PCRE2_CODE_UNIT_WIDTH 8
#include "workload/command/output/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"

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

std::unique_ptr<pcre2_code, Free> compile(const std::string& pattern, const std::string& flag) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  std::unique_ptr<pcre2_code, Free> code(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!code)
    throw core::InputError(fmt::format("{} '{}' is wrong at character {}: {}", flag,
                                       core::printable(pattern), offset + 1, message_of(error)));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // faster where the machine allows it
  return code;
}

}  // namespace

struct Pattern::State {
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_data, Free> match;
  std::unique_ptr<pcre2_match_context, Free> context;
  std::uint32_t groups = 0;
  int costly_lines = 0;
};

Pattern::Pattern(const std::string& pattern, std::string flag) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.code = compile(pattern, flag);
  state.match.reset(pcre2_match_data_create_from_pattern(state.code.get(), nullptr));
  state.context.reset(pcre2_match_context_create(nullptr));
  if (!state.match || !state.context)
    throw core::MachineError(
        fmt::format("there is no memory for {}; free some and try again", flag));
  pcre2_set_match_limit(state.context.get(), most_match_calls);
  pcre2_set_heap_limit(state.context.get(), most_heap_kib);
  pcre2_pattern_info(state.code.get(), PCRE2_INFO_CAPTURECOUNT, &state.groups);
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

const std::size_t* Pattern::find(std::string_view line, std::size_t from) {
  State& state = *state_;
  const int found = pcre2_match(state.code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()),
                                line.size(), from, 0, state.match.get(), state.context.get());
  if (found < PCRE2_ERROR_PARTIAL) ++state.costly_lines;  // a limit; the lesser are "no match"
  if (found <= 0) return nullptr;
  PCRE2_SIZE* where = pcre2_get_ovector_pointer(state.match.get());
  if (state.groups > 0 && where[2] == PCRE2_UNSET) where[2] = 1, where[3] = 0;
  return where;
}

std::size_t Pattern::groups() const { return state_->groups; }

bool Pattern::has_group(const char* name) const {
  return pcre2_substring_number_from_name(state_->code.get(), reinterpret_cast<PCRE2_SPTR>(name)) >
         0;
}

bool Pattern::gave_up() const { return state_->costly_lines >= most_costly_lines; }

}  // namespace sweetspot::workload::command::output
