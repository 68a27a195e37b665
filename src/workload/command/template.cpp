#include "workload/command/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/placeholders.h"
#include "trial/setting_fields.h"
#include "workload/command/config_files.h"
#include "workload/command/gpu/watch.h"
#include "workload/command/options.h"

namespace sweetspot::workload::command {
namespace {

void set(Environment& environment, std::string_view name, std::string value) {
  std::erase_if(environment, [&](const auto& entry) { return entry.first == name; });
  environment.emplace_back(name, std::move(value));
}

void set_unless_ours_has_it(Environment& environment, const char* name, std::string value) {
  if (std::getenv(name) == nullptr) set(environment, name, std::move(value));
}

}  // namespace

Placeholders used(const std::vector<std::string>& texts) {
  Placeholders found;
  for (const std::string& text : texts)
    for (const core::Placeholder& each : trial::placeholders_of({}))
      if (text.find(each.name) != std::string::npos) found.insert(each.name);
  return found;
}

std::vector<std::string> texts_of_trials(const Options& options) {
  std::vector<std::string> texts = options.argv;
  for (const auto& [name, value] : options.environment) texts.push_back(value);
  for (const auto& hook : {options.prepare, options.conclude})
    if (hook) texts.push_back(*hook);
  return texts;
}

Placeholders used(const Options& options) {
  std::vector<std::string> texts = texts_of_trials(options);
  if (options.folder) texts.push_back(options.folder->string());
  for (const Edit& edit : options.edits) texts.push_back(edit.value);
  for (const Template& one : options.templates)
    if (!is_edited(options, one)) texts.push_back(one.text);
  return used(texts);
}

trial::Setting handed(const Options& options, const trial::Setting& setting) {
  trial::Setting part = setting;
  part.batch = std::max<std::int64_t>(1, setting.batch / options.ranks_of_batch());
  return part;
}

std::string expand(std::string_view text, const trial::Setting& setting, const Configs& configs) {
  std::vector<core::Placeholder> placeholders = configs;
  std::ranges::move(trial::placeholders_of(setting), std::back_inserter(placeholders));
  return core::filled(text, placeholders);
}

std::vector<std::string> expand(const std::vector<std::string>& argv, const trial::Setting& setting,
                                const Configs& configs) {
  std::vector<std::string> expanded;
  for (const std::string& argument : argv) expanded.push_back(expand(argument, setting, configs));
  return expanded;
}

std::vector<std::string> command_line(const Options& options, const trial::Setting& setting,
                                      const Configs& configs) {
  std::vector<std::string> argv = expand(options.argv, setting, configs);
  if (!options.shell) return argv;
  return {"/bin/sh", "-c", fmt::format("{}", fmt::join(argv, " "))};
}

std::optional<std::filesystem::path> trial_folder(const Options& options,
                                                  const trial::Setting& setting) {
  if (!options.folder) return std::nullopt;
  return expand(options.folder->string(), setting);
}

Environment setting_environment(const trial::Setting& setting) {
  Environment environment;
  for (auto& [placeholder, value] : trial::placeholders_of(setting)) {
    std::string name = placeholder.substr(1, placeholder.size() - 2);
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    environment.emplace_back("SWEETSPOT_" + name, std::move(value));
  }
  return environment;
}

Environment trial_environment(const Options& options, const trial::Setting& setting,
                              const Configs& configs) {
  Environment environment = setting_environment(setting);
  set_unless_ours_has_it(environment, "PYTHONUNBUFFERED", "1");
  set_unless_ours_has_it(environment, "TQDM_MININTERVAL", "0.05");
  if (options.gpus) set(environment, "SWEETSPOT_GPUS", std::to_string(*options.gpus));
  for (const auto& [name, value] : options.environment)
    set(environment, name, expand(value, setting, configs));
  return environment;
}

namespace {

constexpr const char* placeholder = "{gpus}";

std::vector<std::string*> texts_of(Options& options) {
  std::vector<std::string*> texts;
  for (std::string& argument : options.argv) texts.push_back(&argument);
  for (auto& [name, value] : options.environment) texts.push_back(&value);
  for (auto* hook : {&options.setup, &options.prepare, &options.conclude, &options.cleanup})
    if (*hook) texts.push_back(&**hook);
  for (Edit& edit : options.edits) texts.push_back(&edit.value);
  return texts;
}

// CUDA_VISIBLE_DEVICES lists them up to the first invalid one.
std::optional<int> listed(const Options& options) {
  const auto list = variable(options, "CUDA_VISIBLE_DEVICES");
  if (!list) return std::nullopt;
  int count = 0;
  std::istringstream parts(*list);
  for (std::string part; std::getline(parts, part, ',') && !part.empty() && part[0] != '-';)
    ++count;
  return count;
}

int visible(const Options& options) {
  if (const auto count = listed(options)) return *count;
  constexpr core::Seconds patience{60};
  const gpu::Gpus gpus;
  const std::vector<gpu::Device>* found = gpus.within(patience);
  return found ? static_cast<int>(found->size()) : 0;
}

}  // namespace

void settle_gpus(Options& options) {
  bool used = false;
  for (const std::string* text : texts_of(options))
    used = used || text->find(placeholder) != text->npos;
  if (options.folder)
    used = used || options.folder->string().find(placeholder) != std::string::npos;
  if (!used && options.batch_is == trial::BatchIs::unsaid) return;
  if (!options.gpus) options.gpus = visible(options);
  if (*options.gpus == 0)
    throw core::InputError(
        "no GPU can be seen whose number could be counted; say --gpus N, for processes on the CPU "
        "too");
  const std::vector<core::Placeholder> placeholders = {
      {placeholder, std::to_string(*options.gpus)}};
  for (std::string* text : texts_of(options)) *text = core::filled(*text, placeholders);
  if (options.folder) options.folder = core::filled(options.folder->string(), placeholders);
}

}  // namespace sweetspot::workload::command
