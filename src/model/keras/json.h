#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sweetspot::model::keras {

// A topology without weights is some kilobytes; the limits keep a hostile file from exhausting
// memory (a parsed value takes up to thirty times its text) and the stack.
constexpr std::size_t max_json_bytes = 16 << 20;
constexpr int max_json_depth = 64;

// The JSON in `text` with every key in Python's spelling (TF.js' getConfig() has "kernelSize").
// InputError names `source` and the position of the error.
nlohmann::json parse(std::string_view text, std::string_view source);

// "channelsLast" → "channels_last"
std::string snake_case(std::string_view name);

}  // namespace sweetspot::model::keras
