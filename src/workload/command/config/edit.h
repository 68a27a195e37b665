#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot::workload::command::config {

enum class Format { yaml, json, toml };
std::optional<Format> format_of(const std::filesystem::path& file);  // by its extension

// Whether the text has the key. InputError if it is not valid in that format.
bool has_key(std::string_view text, Format format, std::string_view key);

// The text with the value of a key replaced, and no other byte changed: comments, order, line ends
// and a byte order mark stay. Keys are written train.stages[0].batch or train.stages.0.batch. A
// value that is not valid by itself becomes a string; a quoted number stays quoted. InputError
// begins with the key: it does not exist (the nearest are named), exists more than once, or holds a
// map or a list.
std::string with_value(std::string_view text, Format format, std::string_view key,
                       const std::string& value);

}  // namespace sweetspot::workload::command::config
