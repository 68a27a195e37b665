#include "report/command.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/holes.h"
#include "core/shell.h"

namespace sweetspot::report {
namespace {

std::array<core::Hole, 7> holes_of(const trial::Setting& s) {
  return {{{"{batch}", std::to_string(s.batch)},
           {"{micro_batch}", std::to_string(s.micro_batch())},
           {"{accumulation}", std::to_string(s.accumulation)},
           {"{precision}", s.precision},
           {"{workers}", std::to_string(s.workers)},
           {"{prefetch}", std::to_string(s.prefetch)},
           {"{lr}", fmt::format("{}", s.learning_rate)}}};
}

std::vector<std::string> words_of(const nlohmann::json& json) {
  std::vector<std::string> words;
  if (json.is_array())
    for (const nlohmann::json& word : json)
      if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

}  // namespace

std::string command_at(const Command& command, const trial::Setting& setting) {
  const auto holes = holes_of(setting);
  std::vector<std::string> line;
  for (const CommandPart& part : command) {
    std::vector<std::string> words;
    for (const std::string& word : part.words) words.push_back(core::filled(word, holes));
    if (words != part.usual) line.insert(line.end(), words.begin(), words.end());
  }
  return core::shell_line(line);
}

nlohmann::ordered_json command_json(const Command& command) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const CommandPart& part : command)
    json.push_back({{"words", part.words}, {"usual", part.usual}});
  return json;
}

Command command_of(const nlohmann::json& json) {
  Command command;
  if (!json.is_array()) return command;
  for (const nlohmann::json& part : json)
    if (part.is_object())
      command.push_back({words_of(part.value("words", nlohmann::json())),
                         words_of(part.value("usual", nlohmann::json()))});
  return command;
}

}  // namespace sweetspot::report
