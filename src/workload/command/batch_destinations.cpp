#include "workload/command/batch_destinations.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "workload/command/config_files.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {
namespace {

bool has_batch(const std::string& text) {
  const Placeholders found = used({text});
  return found.batch || found.micro_batch;
}

// What a shell's line may read from the environment itself.
bool names_the_variable(const std::string& text) {
  return text.find("SWEETSPOT_BATCH") != std::string::npos ||
         text.find("SWEETSPOT_MICRO_BATCH") != std::string::npos;
}

std::string argument_place(const Options& options, std::size_t i) {
  if (options.shell || options.argv[i].find(' ') != std::string::npos)
    return "in the command line";  // of a shell: its words are not ours to count
  std::string place = fmt::format("as argument {}", i);
  const std::string& argument = options.argv[i];
  const bool alone = argument == "{batch}" || argument == "{micro_batch}";
  if (!alone) return fmt::format("{} ({})", place, core::printable(argument));
  if (i > 0 && options.argv[i - 1].starts_with('-'))
    place += fmt::format(", behind {}", core::printable(options.argv[i - 1]));
  return place;
}

}  // namespace

std::vector<std::string> batch_destinations(const Options& options) {
  std::vector<std::string> places;
  const auto add = [&](std::string place) {
    if (places.empty() || places.back() != place) places.push_back(std::move(place));
  };
  for (std::size_t i = 0; i < options.argv.size(); ++i)
    if (has_batch(options.argv[i])) add(argument_place(options, i));
  for (const auto& [name, value] : options.environment)
    if (has_batch(value)) add(fmt::format("in the environment variable {}", core::printable(name)));
  if (reads_batch_variable(options)) add("in the environment variable SWEETSPOT_BATCH");
  for (const Template& one : options.templates) {
    const std::string file = core::printable(template_name(one));
    if (!is_edited(options, one)) {
      if (has_batch(one.text)) add(fmt::format("in {}", file));
      continue;
    }
    for (const Edit& edit : edits_of(options, one))
      if (has_batch(edit.value)) add(fmt::format("as {} in {}", core::printable(edit.key), file));
  }
  if (options.prepare && has_batch(*options.prepare)) add("in --prepare");
  if (options.folder && has_batch(options.folder->string())) add("in --cwd");
  return places;
}

bool reads_batch_variable(const Options& options) {
  return options.batch_from_environment || std::ranges::any_of(options.argv, names_the_variable) ||
         (options.prepare && names_the_variable(*options.prepare));
}

std::string batch_destinations_words(const Options& options) {
  const std::vector<std::string> places = batch_destinations(options);
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i)
    text += (i == 0 ? "" : i + 1 == places.size() ? " and " : ", ") + places[i];
  return text;
}

}  // namespace sweetspot::workload::command
