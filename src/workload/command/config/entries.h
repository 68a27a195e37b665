#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sweetspot::workload::command::config {

using Path = std::vector<std::string>;  // keys, and indices of lists
inline Path with(Path path, std::string last) {
  path.push_back(std::move(last));
  return path;
}

// A value in a configuration file, and its position in the text: it can be replaced there, and
// everything else stays byte for byte.
struct Entry {
  Path path;
  enum class Kind { scalar, map, list } kind = Kind::scalar;
  std::size_t from = 0, to = 0;  // bytes of its text, without anchor and tag
  std::string value = {};        // of a scalar, without quotation marks and escapes
  bool quoted = false;
  bool block = false;                   // YAML, after | or >: its text ends with the line
  std::string anchor = {}, alias = {};  // &anchor before it, *alias in its place
};

// The formats set no limit, and a file of ten thousand brackets would exhaust the stack.
constexpr std::size_t deepest = 200;

// In file order. InputError, which begins with the parser's reason, for an invalid file.
std::vector<Entry> yaml_entries(std::string_view text);
std::vector<Entry> json_entries(std::string_view text);  // comments are skipped
std::vector<Entry> toml_entries(std::string_view text);

}  // namespace sweetspot::workload::command::config
