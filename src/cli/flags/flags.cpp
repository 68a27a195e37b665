#include "cli/flags/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/number.h"
#include "core/text.h"

namespace sweetspot::cli {

CLI::Option* text_flag(CLI::App& app, const std::string& flag, const std::string& type,
                       const std::string& help, std::function<void(const std::string&)> read) {
  return app.add_option_function<std::string>(flag, std::move(read), help)->type_name(type);
}

CLI::Option* whole_flag(CLI::App& app, const std::string& flag, std::int64_t& target,
                        WholeBounds bounds, const std::string& help) {
  return text_flag(app, flag, "N", help,
                   [=, &target](const std::string& text) {
                     target = core::parse_whole(text, flag, bounds.least, bounds.most);
                   })
      ->default_str(std::to_string(target));
}

CLI::Option* whole_flag(CLI::App& app, const std::string& flag, int& target, WholeBounds bounds,
                        const std::string& help) {
  const std::int64_t most = std::min<std::int64_t>(bounds.most, std::numeric_limits<int>::max());
  return text_flag(app, flag, "N", help,
                   [=, &target](const std::string& text) {
                     target = static_cast<int>(core::parse_whole(text, flag, bounds.least, most));
                   })
      ->default_str(std::to_string(target));
}

CLI::Option* db_flag(CLI::App& app, std::optional<std::string>& target) {
  return app
      .add_option("--db", target,
                  "the store of trials [SWEETSPOT_DB, else sqlite:sweetspot.db here]")
      ->type_name("URL");
}

std::size_t index_of(const std::string& word, const std::vector<std::string_view>& words,
                     const std::string& flag) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  throw core::InputError(fmt::format("{} '{}' is not known; choose one of {}", flag,
                                     core::printable(word), fmt::join(words, ", ")));
}

}  // namespace sweetspot::cli
