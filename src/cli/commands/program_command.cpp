#include <fmt/format.h>

#include <algorithm>

#include "cli/flags/command_flags.h"
#include "workload/command/batch_destinations.h"
#include "workload/command/config_files.h"
#include "workload/command/redact.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

namespace command = workload::command;
namespace fs = std::filesystem;
using Written = report::CommandPart::Form;

// Without secrets, and with its placeholders: numbers are no secrets, and a placeholder does not
// look like one, so it is filled before the decision.
std::vector<std::string> clean(const std::vector<std::string>& words) {
  const std::vector<std::string> shown = command::expand(words, {});
  std::vector<std::string> safe = command::redacted(shown);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (safe[i] == shown[i]) safe[i] = words[i];
  return safe;
}

void then(report::Command& line) { line.push_back({{"&&"}, {}, Written::shell}); }

// Where the filled copy is to be after the tune: where the program looks for it, or beside the
// file, so that what the file names by a relative path is found.
fs::path copy_path(const command::Options& o, const command::Template& one) {
  if (one.copy) return o.folder ? *o.folder / *one.copy : *one.copy;
  return one.file.parent_path() / fmt::format("{}.batch-{{batch}}{}", one.file.stem().string(),
                                              one.file.extension().string());
}

// sweetspot fill, as cli/fill.cpp takes it.
void push_fill(report::Command& line, const command::Options& o, const command::Template& one) {
  line.push_back({{"sweetspot", "fill", one.file.string()}});
  const std::vector<command::Edit> edits = command::edits_of(o, one);
  for (const command::Edit& edit : edits) {
    line.push_back({{"--set"}});
    line.push_back({clean({edit.key + "=" + edit.value})});
  }
  if (edits.empty()) {
    const command::Placeholders has = command::used({one.text});
    if (has.batch || has.micro_batch) line.push_back({{"--batch", "{batch}"}});
    if (has.accumulation || has.micro_batch)
      line.push_back({{"--accumulation", "{accumulation}"}, {"--accumulation", "1"}});
    if (has.workers) line.push_back({{"--workers", "{workers}"}});
    if (has.precision) line.push_back({{"--precision", "{precision}"}});
    if (has.lr) line.push_back({{"--lr", "{lr}"}});
    if (has.seed) line.push_back({{"--seed", "{seed}"}});
  }
  const fs::path copy = copy_path(o, one);
  if (copy.lexically_normal() == one.file.lexically_normal())
    line.push_back({{"--in-place"}});
  else
    line.push_back({{"--output", copy.string()}});
  then(line);
}

command::Configs configs_of(const command::Options& o) {
  command::Configs configs;
  for (const command::Template& one : o.templates) {
    const fs::path beside =
        o.folder ? fs::absolute(copy_path(o, one)).lexically_relative(fs::absolute(*o.folder))
                 : copy_path(o, one);
    const std::string path = one.copy.value_or(beside).string();
    configs.push_back({"{config}", path});
    configs.push_back({fmt::format("{{config:{}}}", command::template_name(one)), path});
  }
  return configs;
}

}  // namespace

report::Command program_command(const CommandFlags& flags) {
  const command::Options& o = flags.options;
  const command::Configs configs = configs_of(o);
  const auto with_configs = [&](const std::string& text) { return core::filled(text, configs); };
  report::Command line;
  for (const command::Template& one : o.templates) push_fill(line, o, one);
  if (o.folder) {
    line.push_back({{"cd", o.folder->string()}});
    then(line);
  }
  // What has no placeholder is the user's business: the data is there by now.
  if (o.prepare && (command::used({*o.prepare}) != command::Placeholders{} ||
                    with_configs(*o.prepare) != *o.prepare)) {
    line.push_back({{"sh", "-c"}});
    line.push_back({clean({with_configs(*o.prepare)})});
    then(line);
  }
  std::vector<std::string> variables;
  if (command::reads_batch_variable(o)) variables.push_back("SWEETSPOT_BATCH={batch}");
  for (const auto& [name, value] : command::redacted(o.environment))
    variables.push_back(name + "=" + with_configs(value));
  if (!variables.empty()) line.push_back({variables, {}, Written::assignments});
  std::vector<std::string> argv;
  for (const std::string& word : o.argv) argv.push_back(with_configs(word));
  argv = clean(argv);
  if (!o.shell) {
    for (const std::string& word : argv) line.push_back({{word}});
  } else {
    const std::string script = fmt::format("{}", fmt::join(argv, " "));
    if (variables.empty())
      line.push_back({{script}, {}, Written::shell});
    else  // of which a variable before it would reach the first command alone
      line.push_back({{"sh", "-c", script}});
  }
  return line;
}

}  // namespace sweetspot::cli
