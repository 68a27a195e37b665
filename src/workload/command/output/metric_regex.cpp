#include "workload/command/output/metric_regex.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr const char* of_a_test = "(?i)(?:val|valid|validation|test|testing|eval|evaluation)";
constexpr const char* value_behind =
    R"([a-z0-9@]*["']?\s*(?:[:=]|is|of)?\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?\s*%?))";

std::string usual(trial::Target::Metric metric) {
  return fmt::format(
      "{}{}{}{}", of_a_test, R"([ _/.\-]*)",
      metric == trial::Target::Metric::accuracy ? "(?:set )?acc(?:uracy)?" : "(?:set )?loss",
      value_behind);
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

MetricRegex::MetricRegex(trial::Target::Metric metric, const std::optional<std::string>& regex)
    : metric_(metric), pattern_(regex.value_or(usual(metric)), "--metric-regex") {
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
