#define PCRE2_CODE_UNIT_WIDTH 8
#include "workload/command/output/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/number.h"

namespace sweetspot::workload::command::output {
namespace {

// A line is at most 4 KiB: a reasonable expression needs a small part of this, and one with
// catastrophic backtracking costs milliseconds, not hours.
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
  if (found < PCRE2_ERROR_PARTIAL) ++state.costly_lines;  // a limit; smaller codes are "no match"
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

namespace {

constexpr const char* of_a_test = "(?:val|valid|validation|test|testing|eval|evaluation)";
constexpr const char* value_behind =
    R"([a-z0-9@]*["']?\s*(?:[:=]|is|of)?\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?\s*%?))";

// As in "val_accuracy: 0.98"; and, each with its value as group 1, as in PyTorch's examples: "Test
// set: Average loss: 0.05, Accuracy: 9800/10000 (98%)", "Accuracy of the network on the 10000 test
// images: 98 %" and " * Acc@1 76.1".
std::string usual(trial::Target::Metric metric) {
  const std::string beside = fmt::format(R"({}[\] _/.\-]*(?:set ?)?)", of_a_test);
  if (metric == trial::Target::Metric::loss)
    return fmt::format(R"((?|{0}loss{1}|{0}:?\s*(?:average|avg\.?|mean) loss{1}))", beside,
                       value_behind);
  return fmt::format(
      R"((?|{0}acc(?:uracy)?{1}|{0}:?\s*(?:(?:average|avg\.?|mean) )?loss\W+[0-9.e+\-]+\W+acc(?:uracy)?:? *[0-9]+/[0-9]+ *\(([0-9.]+ *%)\))"
      R"(|acc(?:uracy)?[a-z ]* on (?:the )?(?:[0-9,]+ )?{2}[a-z ]*[:=]? *([0-9.]+ *%?)|\* *acc@1 *([0-9.]+ *%?)))",
      beside, value_behind, of_a_test);
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

MetricRegex::MetricRegex(trial::Target::Metric metric, const std::optional<std::string>& regex)
    : metric_(metric), pattern_(regex.value_or("(?i)" + usual(metric)), "--metric-regex") {
  if (pattern_.groups() != 1)
    throw core::InputError(fmt::format(
        "--metric-regex '{}' has {} groups, and one is the value; write others as (?:…)",
        core::printable(regex.value_or("")), pattern_.groups()));
}

std::optional<double> MetricRegex::read(std::string_view line) {
  std::optional<double> found;
  for (std::size_t from = 0; from < line.size() && !pattern_.gave_up();) {
    const std::size_t* where = pattern_.find(line, from);
    if (where == nullptr || where[1] <= where[0]) break;
    from = where[1];
    if (where[3] < where[2]) continue;
    std::optional<double> value =
        number_in(core::trimmed(line.substr(where[2], where[3] - where[2])));
    if (!value) continue;
    const std::string_view with_sign = line.substr(where[2]);
    const std::size_t behind = with_sign.find_first_not_of("0123456789.eE+- ");
    const bool is_percent = behind != std::string_view::npos && with_sign[behind] == '%';
    const bool means_percent =
        metric_ == trial::Target::Metric::accuracy && *value > 1 && *value <= 100;
    found = is_percent || means_percent ? *value / 100 : *value;
  }
  return found;
}

}  // namespace sweetspot::workload::command::output
