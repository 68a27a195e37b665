#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::report {

// A part of the training command, with placeholders for what a setting decides: {batch},
// {micro_batch}, {accumulation}, {precision}, {workers}, {prefetch}, {lr} and {seed}.
struct CommandPart {
  std::vector<std::string> words;
  std::vector<std::string> usual{};  // its defaults: omitted if equal to these
  // How they are written: quoted as words, as NAME=value with a quoted value, or verbatim, for
  // shell operators (&&).
  enum class Form { words, assignments, shell } form = Form::words;
};
using Command = std::vector<CommandPart>;

// The words of one part; empty if it is left out.
std::vector<std::string> words_at(const CommandPart& part, const trial::Setting& setting);
// In shell syntax; empty if there is none.
std::string command_at(const Command& command, const trial::Setting& setting);

}  // namespace sweetspot::report
