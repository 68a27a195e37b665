#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>

#include "core/error.h"

namespace sweetspot::core {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// The number and its unit; spaces before the unit are ignored.
double parse_quantity(std::string_view text, std::string_view what, std::span<const Unit> units,
                      std::string_view example) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (error == std::errc{} && std::isfinite(number) && number >= 0) {
    for (const Unit& candidate : units)
      if (candidate.name == unit) return number * candidate.factor;
  }
  throw InputError(
      fmt::format("{} '{}' is not understood; write it like {}", what, printable(text), example));
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool turns_direction(std::uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  if (bytes < KiB) return fmt::format("{} B", bytes);
  constexpr std::array<std::string_view, 4> names{"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / KiB;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < names.size()) value /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, names[unit]);
}

Bytes parse_bytes(std::string_view text, std::string_view what) {
  static constexpr std::array<Unit, 16> units{{{"", 1},
                                               {"B", 1},
                                               {"K", 1024.},
                                               {"KB", 1024.},
                                               {"KiB", 1024.},
                                               {"k", 1024.},
                                               {"M", 1048576.},
                                               {"MB", 1048576.},
                                               {"MiB", 1048576.},
                                               {"m", 1048576.},
                                               {"G", 1073741824.},
                                               {"GB", 1073741824.},
                                               {"GiB", 1073741824.},
                                               {"g", 1073741824.},
                                               {"T", 1099511627776.},
                                               {"TiB", 1099511627776.}}};
  const double value = parse_quantity(text, what, units, "4GiB or 512MiB");
  if (value >= 18e18)
    throw InputError(fmt::format("{} '{}' is larger than any memory", what, printable(text)));
  return static_cast<Bytes>(value);
}

Seconds parse_duration(std::string_view text, std::string_view what) {
  static constexpr std::array<Unit, 7> units{
      {{"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}}};
  return Seconds(parse_quantity(text, what, units, "20ms, 1.5s or 5m"));
}

std::string format_duration(Seconds duration) {
  const double s = duration.count();
  if (s > 0 && s < 1e-6) return fmt::format("{:.0f} ns", s * 1e9);
  if (s < 1e-5) return fmt::format("{:.3g} µs", s * 1e6);
  if (s < 1e-3) return fmt::format("{:.0f} µs", s * 1e6);
  if (s < 1) return fmt::format("{:.3g} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<long long>(std::llround(s));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string format_joules(double joules) {
  if (joules >= 0.01 || !(joules > 0)) return format_rounded(joules) + " J";
  if (joules >= 1e-3) return format_rounded(joules * 1e3) + " mJ";
  if (joules >= 1e-6) return format_rounded(joules * 1e6) + " µJ";
  return format_rounded(joules * 1e9) + " nJ";
}

std::string format_count(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string format_rounded(double count) {
  if (!(std::abs(count) >= 100)) return fmt::format("{:.3g}", count);
  const double unit = std::pow(10, std::floor(std::log10(std::abs(count))) - 2);
  return format_count(std::round(count / unit) * unit);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return copy;
}

std::string_view shortened(std::string_view text, std::size_t most_bytes) {
  std::size_t end = std::min(most_bytes, text.size());
  while (end > 0 && end < text.size() && is_continuation(text[end])) --end;
  return text.substr(0, end);
}

std::string fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = printable_bytes(text);
    if (size == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::size_t printable_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  std::uint32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  const bool too_long = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code < 0xa0;
  return too_long || surrogate || control || turns_direction(code) || code > 0x10ffff ? 0 : size;
}

}  // namespace sweetspot::core
