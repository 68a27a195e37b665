#include "report/command.h"

#include <fmt/format.h>

#include <array>

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

}  // namespace sweetspot::report
