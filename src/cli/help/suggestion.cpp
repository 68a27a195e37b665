#include "cli/help/suggestion.h"

#include <algorithm>

#include "core/edit_distance.h"

namespace sweetspot::cli {
namespace {

// Two letters that changed places are two edits; in a short word that would make another word.
std::size_t most_edits(const std::string& word) { return word.size() < 4 ? 1 : 2; }

}  // namespace

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 64;  // of any name; a distance costs as much as the word is long
  if (word.empty() || word.size() > longest) return std::nullopt;
  const auto distance = [&](const std::string& name) { return core::edit_distance(word, name); };
  const auto best = std::ranges::min_element(names, {}, distance);
  if (best == names.end()) return std::nullopt;
  if (distance(*best) <= most_edits(word)) return *best;
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (std::ranges::count_if(names, begins) == 1) return *std::ranges::find_if(names, begins);
  return std::nullopt;
}

std::optional<std::string> suggestion(const Command& command, const std::string& stray) {
  std::vector<std::string> names;
  if (stray.starts_with("--")) {
    for (const Flag& flag : command.flags) names.push_back(flag.long_name());
    return nearest(stray.substr(0, stray.find('=')), names);
  }
  for (const Command& below : command.commands) names.push_back(below.name());
  return nearest(stray, names);
}

}  // namespace sweetspot::cli
