#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/number.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sweetspot::cli {

using core::most_batch;

// Flags whose text is parsed by `read`, which throws an InputError that names the flag: CLI11's own
// conversions accept NaN and overflowing numbers.
CLI::Option* text_flag(CLI::App& app, const std::string& flag, const std::string& type,
                       const std::string& help, std::function<void(const std::string&)> read);

struct WholeBounds {
  std::int64_t least = 0, most = INT64_MAX;
};
CLI::Option* whole_flag(CLI::App& app, const std::string& flag, std::int64_t& target,
                        WholeBounds bounds, const std::string& help);
CLI::Option* whole_flag(CLI::App& app, const std::string& flag, int& target, WholeBounds bounds,
                        const std::string& help);

// Where the trials are stored.
CLI::Option* db_flag(CLI::App& app, std::optional<std::string>& target);

// One of a few words.
std::size_t index_of(const std::string& word, const std::vector<std::string_view>& words,
                     const std::string& flag);

}  // namespace sweetspot::cli
