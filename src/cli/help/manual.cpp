#include "cli/help/manual.h"

#include <fmt/format.h>

#include "core/text.h"

namespace sweetspot::cli {
namespace {

// roff interprets a backslash, and a dot or a quote at the start of a line; it may turn "-" into a
// typographic hyphen, which cannot be pasted.
std::string roff(const std::string& text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (begins_line && (c == '.' || c == '\''))
      out += std::string("\\&") + c;
    else
      out += c;
    begins_line = c == '\n';
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string flag_text(const Flag& flag) {
  std::string names;
  for (const std::string& name : flag.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (!flag.type.empty()) names += " " + italic(flag.type);
  std::string help = roff(flag.help);
  if (!flag.standard.empty()) help += fmt::format(" [{}]", roff(flag.standard));
  return fmt::format(".TP\n{}\n{}\n", names, help);
}

std::string synopsis(const Command& command) {
  std::string line = bold(command.path);
  if (!command.flags.empty()) line += " [" + italic("OPTIONS") + "]";
  for (const Flag& positional : command.positionals)
    line += positional.required ? " " + italic(positional.long_name())
                                : fmt::format(" [{}]", italic(positional.long_name()));
  if (!command.commands.empty()) line += " " + italic("COMMAND");
  return line + "\n";
}

std::string flags_text(const Command& command) {
  std::string text, group = "Options";
  for (const Flag& positional : command.positionals) text += flag_text(positional);
  for (const Flag& flag : command.flags) {
    if (flag.group != group) text += fmt::format(".PP\n{}\n", bold(group = flag.group));
    text += flag_text(flag);
  }
  return text;
}

// A footer is blank lines, "Examples:" and the lines themselves.
std::string examples_text(const std::string& footer) {
  const std::size_t begin = footer.find(":\n");
  if (begin == std::string::npos) return "";
  return fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(footer.substr(begin + 2)));
}

std::string page(const Command& command, const std::string& version) {
  std::string name = command.path;
  for (char& c : name)
    if (c == ' ') c = '-';
  std::string text = fmt::format(".TH {} 1 \"\" \"{}\" \"sweetspot\"\n.SH NAME\n{} \\- {}\n", name,
                                 roff(version), roff(name), roff(command.help));
  text += ".SH SYNOPSIS\n" + synopsis(command);
  for (const Command& below : command.commands) text += ".br\n" + synopsis(below);
  text += ".SH OPTIONS\n" + flags_text(command);
  for (const Command& below : command.commands)
    text += fmt::format(".SH {}\n{}\n{}", bold(below.path), roff(below.help), flags_text(below));
  text += examples_text(command.examples);
  return text + ".SH SEE ALSO\n" + bold("sweetspot") + "(1)\n";
}

std::string program_page(const Command& program, const std::string& version) {
  std::string text = fmt::format(".TH sweetspot 1 \"\" \"{}\" \"sweetspot\"\n.SH NAME\n{}\n",
                                 roff(version), roff("sweetspot - which batch size to train with"));
  text += ".SH SYNOPSIS\n" + synopsis(program) + ".SH OPTIONS\n" + flags_text(program);
  text += ".SH COMMANDS\n";
  std::string pages;
  for (const Command& command : program.commands) {
    text += fmt::format(".TP\n{}\n{}\n", bold(command.name()), roff(command.help));
    pages += (pages.empty() ? "" : ",\n") + bold("sweetspot-" + command.name()) + "(1)";
  }
  return text + examples_text(program.examples) + ".SH SEE ALSO\n" + pages + "\n";
}

}  // namespace

std::map<std::string, std::string> manual_pages(const Command& program,
                                                const std::string& version) {
  std::map<std::string, std::string> pages{{"sweetspot.1", program_page(program, version)}};
  for (const Command& command : program.commands)
    pages[fmt::format("sweetspot-{}.1", command.name())] = page(command, version);
  return pages;
}

}  // namespace sweetspot::cli
