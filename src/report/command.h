#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::report {

// A part of the command that trains, with placeholders for what a setting decides: {batch},
// {micro_batch}, {accumulation}, {precision}, {workers}, {prefetch}, {lr} and {seed}.
struct CommandPart {
  std::vector<std::string> words;
  std::vector<std::string> usual{};  // left out where it comes to these, its defaults
  // How they are written: quoted as words, as NAME=value of which the value is quoted, or as they
  // stand, for what the shell is to obey (&&).
  enum class Form { words, assignments, shell } form = Form::words;
};
using Command = std::vector<CommandPart>;

// Of one part; empty if it is left out.
std::vector<std::string> words_at(const CommandPart& part, const trial::Setting& setting);
// As a shell takes it; empty where there is none.
std::string command_at(const Command& command, const trial::Setting& setting);

}  // namespace sweetspot::report
