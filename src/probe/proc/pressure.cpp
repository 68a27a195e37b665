#include "probe/proc/pressure.h"

#include <sstream>

#include "probe/proc/text_file.h"

namespace sweetspot::probe::proc {
namespace {

// The number behind `key` in "some avg10=0.00 avg60=0.00 avg300=0.00 total=2713553810".
template <class Number>
std::optional<Number> value_of(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  std::istringstream digits(line.substr(at + key.size()));
  if (Number value{}; digits >> value) return value;
  return std::nullopt;
}

std::optional<double> share_of(const std::string& line) {
  const auto percent = value_of<double>(line, "avg10=");
  if (!percent) return std::nullopt;
  return *percent / 100;
}

}  // namespace

Pressure pressure(const std::string& resource, const std::filesystem::path& root) {
  Pressure found;
  std::istringstream lines(read_text(root / "proc/pressure" / resource).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("some")) {
      found.some_share = share_of(line);
      found.some_total_us = value_of<std::uint64_t>(line, "total=");
    } else if (line.starts_with("full")) {
      found.full_share = share_of(line);
    }
  }
  return found;
}

}  // namespace sweetspot::probe::proc
