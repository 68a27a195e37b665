#include "report/command.h"

#include <fmt/format.h>

#include "core/placeholders.h"
#include "core/shell.h"
#include "core/text.h"
#include "trial/setting_fields.h"

namespace sweetspot::report {
namespace {

// A program of ours takes the prefetch too.
std::vector<core::Placeholder> values_of(const trial::Setting& setting) {
  auto all = trial::placeholders_of(setting);
  all.push_back({"{prefetch}", std::to_string(setting.configuration.prefetch)});
  return all;
}

std::string written(const std::string& word, CommandPart::Form form) {
  using Form = CommandPart::Form;
  const std::size_t equals = word.find('=');
  if (form == Form::shell) return word;
  if (form == Form::words || equals == std::string::npos) return core::shell_word(word);
  return word.substr(0, equals + 1) +
         (equals + 1 == word.size() ? "" : core::shell_word(word.substr(equals + 1)));
}

}  // namespace

std::vector<std::string> words_at(const CommandPart& part, const trial::Setting& setting) {
  std::vector<std::string> words;
  for (const std::string& word : part.words)
    words.push_back(core::filled(word, values_of(setting)));
  return words == part.usual ? std::vector<std::string>() : words;
}

std::string command_at(const Command& command, const trial::Setting& setting) {
  std::string line;
  for (const CommandPart& part : command)
    for (const std::string& word : words_at(part, setting))
      line += (line.empty() ? "" : " ") + written(word, part.form);
  return core::printable(line);
}

}  // namespace sweetspot::report
