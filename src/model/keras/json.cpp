#include "model/keras/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Recursion is bounded by max_json_depth.
json with_snake_keys(json value) {
  if (value.is_array())
    for (json& item : value) item = with_snake_keys(std::move(item));
  if (!value.is_object()) return value;
  json object = json::object();
  for (auto& [key, item] : value.items())
    object[snake_case(key)] = with_snake_keys(std::move(item));
  return object;
}

[[noreturn]] void refuse_text(std::string_view text, std::size_t byte, std::string_view source) {
  byte = std::min(byte, text.size());  // the parser counts the end as a byte of its own
  const auto line = std::ranges::count(text.substr(0, byte), '\n') + 1;
  throw core::InputError(
      fmt::format("{} is not valid JSON at line {}, byte {}; write it again with model.to_json()",
                  core::printable(source), line, byte));
}

}  // namespace

std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_upper(c) && !out.empty() && out.back() != '_') out += '_';
    out += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

json parse(std::string_view text, std::string_view source) {
  if (text.size() > max_json_bytes)
    throw core::InputError(fmt::format(
        "{} is larger than {}, too large for a model's JSON; give model.to_json() alone",
        core::printable(source), core::format_bytes(max_json_bytes)));
  // The parser takes one for the end of the text.
  if (const std::size_t at = text.find('\0'); at != std::string::npos)
    refuse_text(text, at + 1, source);
  const auto check_depth = [&](int depth, json::parse_event_t, json&) {
    if (depth > max_json_depth)
      throw core::InputError(
          fmt::format("{} is nested more than {} levels deep, which no Sequential model is; "
                      "write it again with model.to_json()",
                      core::printable(source), max_json_depth));
    return true;
  };
  try {
    return with_snake_keys(json::parse(text, check_depth));
  } catch (const json::parse_error& error) {
    refuse_text(text, error.byte, source);
  } catch (const json::exception&) {  // a number beyond a double
    throw core::InputError(
        fmt::format("{} holds a number that is out of range; write it again with "
                    "model.to_json()",
                    core::printable(source)));
  }
}

}  // namespace sweetspot::model::keras
