#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot::workload::command::config {

enum class Format { yaml, json, toml };
std::optional<Format> format_of(const std::filesystem::path& file);  // by its ending

// Whether the text has the key. InputError when it is no text of that format.
bool has_key(std::string_view text, Format format, std::string_view key);

// The text with the value of a key replaced, and not a byte else: comments, order, line ends and a
// byte order mark stay. Keys are written train.stages[0].batch or train.stages.0.batch. A value
// that is none of the format by itself becomes a string; a number in quotation marks stays in them.
// InputError begins with the key: it is not there (the nearest are named), is there more than once,
// or holds a map or a list.
std::string with_value(std::string_view text, Format format, std::string_view key,
                       const std::string& value);

}  // namespace sweetspot::workload::command::config
