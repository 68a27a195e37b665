#include "cli/help/completion.h"

#include <fmt/format.h>

#include <functional>

namespace sweetspot::cli {
namespace {

void for_each_command(const Command& command, const std::function<void(const Command&)>& visit) {
  visit(command);
  for (const Command& below : command.commands) for_each_command(below, visit);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Inside single quotes, as both zsh and fish take it.
std::string in_quotes(const std::string& text) { return replaced(text, "'", "'\\''"); }

// A shell function's name for a command: "_sweetspot_data_fetch".
std::string function_name(const Command& command) {
  return "_" + replaced(replaced(command.path, " ", "_"), "-", "_");
}

// The first sentence of a help text: candidates are listed one per line.
std::string short_help(const std::string& help) {
  return help.substr(0, help.find_first_of(";:["));
}

std::string all_names(const Command& command, bool files_only) {
  std::string names;
  for (const Flag& flag : command.flags)
    if (!files_only || flag.takes_file())
      for (const std::string& name : flag.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

std::string value_names(const Command& command) {
  std::string names;
  for (const Flag& flag : command.flags)
    if (!flag.type.empty() && !flag.takes_file())
      for (const std::string& name : flag.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

std::string child_names(const Command& command) {
  std::string names;
  for (const Command& below : command.commands) names += (names.empty() ? "" : " ") + below.name();
  return names;
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string cases;
  for_each_command(program, [&](const Command& command) {
    cases += fmt::format(
        "    '{}')\n      commands='{}'\n      flags='{}'\n      file_flags=' {} '\n"
        "      value_flags=' {} ' ;;\n",
        command.path, child_names(command), all_names(command, false), all_names(command, true),
        value_names(command));
  });
  return R"(# bash completion for sweetspot, made by `sweetspot generate`.
_sweetspot_words() {
  case $1 in
)" + cases +
         R"(  esac
}

_sweetspot() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local path=sweetspot commands flags file_flags value_flags i
  COMPREPLY=()
  _sweetspot_words "$path"
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then  # a program of its own
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      elif ((COMP_CWORD == i + 1)); then
        COMPREPLY=($(compgen -c -- "$current"))
      else
        COMPREPLY=($(compgen -f -- "$current"))
      fi
      return
    fi
    if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
      path+=" ${COMP_WORDS[i]}"
      commands= flags= file_flags= value_flags=
      _sweetspot_words "$path"
    fi
  done
  if [[ $file_flags == *" $previous "* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $value_flags == *" $previous "* ]]; then
    return
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -o bashdefault -F _sweetspot sweetspot
)";
}

std::string zsh_completion(const Command& program) {
  // Brackets and colons are special in a zsh specification.
  const auto words = [](const std::string& text) {
    return in_quotes(replaced(replaced(replaced(text, "[", "("), "]", ")"), ":", "\\:"));
  };
  std::string text =
      "#compdef sweetspot\n# zsh completion for sweetspot, made by `sweetspot generate`.\n";
  for_each_command(program, [&](const Command& command) {
    text += fmt::format(
        "\n{}() {{\n  local context state state_descr line\n  typeset -A opt_args\n"
        "  _arguments -C \\\n",
        function_name(command));
    for (const Flag& flag : command.flags)
      for (const std::string& name : flag.names)
        text += fmt::format("    '*{}[{}]{}' \\\n", name, words(short_help(flag.help)),
                            flag.type.empty()   ? ""
                            : flag.takes_file() ? fmt::format(":{}:_files", words(flag.type))
                                                : fmt::format(":{}: ", words(flag.type)));
    if (command.commands.empty()) {
      text += "    '(-)--[a program]:*::program:_normal' \\\n    '*:file:_files'\n}\n";
      return;
    }
    text +=
        "    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n  command)\n"
        "    local -a commands=(\n";
    for (const Command& below : command.commands)
      text += fmt::format("      '{}:{}'\n", below.name(), words(short_help(below.help)));
    text += "    )\n    _describe command commands ;;\n  rest)\n    case $words[1] in\n";
    for (const Command& below : command.commands)
      text += fmt::format("      {}) {} ;;\n", below.name(), function_name(below));
    text += "    esac ;;\n  esac\n}\n";
  });
  return text +
         "\nif [[ $funcstack[1] == _sweetspot ]]; then _sweetspot \"$@\"; else compdef "
         "_sweetspot sweetspot; fi\n";
}

std::string fish_completion(const Command& program) {
  std::string text =
      "# fish completion for sweetspot, made by `sweetspot generate`.\n"
      "# The command is all words before the first flag that are commands: \"data fetch\".\n"
      "function __sweetspot_at\n"
      "  set -l words (commandline -opc)\n"
      "  contains -- -- $words; and return 1\n"
      "  set -l path\n"
      "  for word in $words[2..-1]\n"
      "    string match -q -- '-*' $word; and continue\n"
      "    contains -- \"$path $word\" $__sweetspot_paths; and set path \"$path $word\"\n"
      "  end\n"
      "  test \"$path\" = \"$argv[1]\"\n"
      "end\n"
      "set -g __sweetspot_paths";
  const auto below_program = [&](const Command& command) {
    return command.path.substr(program.path.size());  // " data fetch"
  };
  for_each_command(program, [&](const Command& command) {
    if (const std::string path = below_program(command); !path.empty())
      text += fmt::format(" '{}'", path);
  });
  text += "\n";
  for_each_command(program, [&](const Command& command) {
    const std::string begin =
        fmt::format("complete -c sweetspot -n \"__sweetspot_at '{}'\"", below_program(command));
    for (const Command& below : command.commands)
      text += fmt::format("{} -f -a {} -d '{}'\n", begin, below.name(),
                          in_quotes(short_help(below.help)));
    for (const Flag& flag : command.flags) {
      text += begin;
      for (const std::string& name : flag.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += flag.type.empty() ? "" : flag.takes_file() ? " -r -F" : " -x";
      text += fmt::format(" -d '{}'\n", in_quotes(short_help(flag.help)));
    }
  });
  return text;
}

}  // namespace sweetspot::cli
