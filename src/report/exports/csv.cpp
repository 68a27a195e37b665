#include <fmt/format.h>

#include "report/fields.h"
#include "report/formats.h"

namespace sweetspot::report {
namespace {

std::string quoted(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

struct Cell {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
};

}  // namespace

std::string csv(const ShownStudy& study) {
  std::string text;
  for (const Field& field : fields()) text += (text.empty() ? "" : ",") + std::string(field.csv);
  text += "\r\n";
  for (const Row& row : rows(study)) {
    std::string line;
    for (const Field& field : fields())
      line += (&field == fields().data() ? "" : ",") + std::visit(Cell{}, field.value(row));
    text += line + "\r\n";
  }
  return text;
}

}  // namespace sweetspot::report
