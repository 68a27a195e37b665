#include "workload/command/config_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "workload/command/config/edit.h"
#include "workload/command/scratch.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return core::printable(path.string()); }

// "model.yaml" of "model.yaml:train.batch_size", if that is a template.
const Template* named(const Options& options, const Edit& edit) {
  for (const Template& one : options.templates)
    if (edit.key.starts_with(template_name(one) + ":")) return &one;
  return nullptr;
}

bool has_key(const Template& one, const std::string& key) {
  const auto format = config::format_of(one.file);
  if (!format) return false;
  try {
    return config::has_key(one.text, *format, key);
  } catch (const core::InputError& error) {
    throw core::InputError(
        fmt::format("{} cannot be edited by its keys: {}", shown(one.file), error.what()));
  }
}

const Template& meant(const Options& options, const Edit& edit) {
  if (const Template* one = named(options, edit)) return *one;
  if (options.templates.size() == 1) return options.templates.front();
  const Template* found = nullptr;
  for (const Template& one : options.templates) {
    if (!has_key(one, edit.key)) continue;
    if (found)
      throw core::InputError(fmt::format(
          "--set {0} is in {1} and in {2}; say which, as in --set {1}:{0}={3}",
          core::printable(edit.key), template_name(*found), template_name(one), edit.value));
    found = &one;
  }
  if (!found)
    throw core::InputError(fmt::format(
        "--set {} is in none of the templates; say which one it is for, as in --set {}:{}={}",
        core::printable(edit.key), template_name(options.templates.front()),
        core::printable(edit.key), core::printable(edit.value)));
  return *found;
}

bool mentions(const Options& options, const std::string& placeholder) {
  return std::ranges::any_of(texts_of_trials(options), [&](const std::string& text) {
    return text.find(placeholder) != std::string::npos;
  });
}

void check_copy(const Options& options, const Template& one) {
  const bool over_itself = one.copy->lexically_normal() == one.file.lexically_normal();
  if (over_itself && !is_edited(options, one))
    throw core::InputError(fmt::format(
        "--template {} would fill the placeholders of its own file; name another to write",
        shown(one.file)));
  const fs::path folder = options.folder.value_or("."), place = folder / *one.copy;
  std::error_code error;
  if (options.scratch && one.copy->is_relative()) {
    if (fs::is_directory(folder, error)) Scratch::place_in(folder, *one.copy);
    return;
  }
  if (fs::exists(fs::symlink_status(place, error)))
    throw core::InputError(fmt::format(
        "--template would write {}, which is there already; move it away, name another, or {}",
        shown(place),
        one.copy->is_absolute()
            ? "one in its folder, and add --scratch"
            : fmt::format("add --scratch, where a trial has a {} of its own", shown(*one.copy))));
  const fs::path parent = place.parent_path();
  if (place.string().find('{') == std::string::npos && !parent.empty() &&
      !fs::is_directory(parent, error))
    throw core::InputError(fmt::format(
        "--template would write {}, whose folder is not there; make it, or name another",
        shown(place)));
}

}  // namespace

std::string read_text(const fs::path& file) {
  constexpr std::uintmax_t largest = 16 << 20;  // for hand-written files
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw core::InputError(
        fmt::format("{} is no file that can be read; check its path", shown(file)));
  if (fs::file_size(file, error) > largest)
    throw core::InputError(
        fmt::format("{} is larger than 16 MiB; name the configuration, not the data", shown(file)));
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof())
    throw core::InputError(fmt::format("{} cannot be read; check its permissions", shown(file)));
  return text;
}

Template read_template(const std::string& argument) {
  std::error_code error;
  Template one;
  const std::size_t colon = argument.rfind(':');
  const bool whole = colon == std::string::npos || fs::exists(argument, error);
  one.file = whole ? argument : argument.substr(0, colon);
  if (!whole) one.copy = argument.substr(colon + 1);
  if (one.file.empty() || (one.copy && !one.copy->has_filename()))
    throw core::InputError(fmt::format(
        "--template '{}' names no file; write --template config.yaml, or in.yaml:out.yaml",
        core::printable(argument)));
  one.text = read_text(one.file);
  return one;
}

Edit parse_edit(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    throw core::InputError(
        fmt::format("--set '{}' is no KEY=VALUE; write --set train.batch_size={{batch}}",
                    core::printable(argument)));
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::string template_name(const Template& one) { return one.file.filename().string(); }

std::vector<Edit> edits_of(const Options& options, const Template& one) {
  std::vector<Edit> mine;
  for (const Edit& edit : options.edits) {
    if (&meant(options, edit) != &one) continue;
    const bool prefixed = named(options, edit) == &one;
    mine.push_back(
        {prefixed ? edit.key.substr(template_name(one).size() + 1) : edit.key, edit.value});
  }
  return mine;
}

bool is_edited(const Options& options, const Template& one) {
  try {
    return !edits_of(options, one).empty();
  } catch (const core::InputError&) {
    return false;  // check_templates() reports why
  }
}

std::string filled(const Options& options, const Template& one, const trial::Setting& setting) {
  const std::vector<Edit> edits = edits_of(options, one);
  if (edits.empty()) return expand(one.text, setting);
  const auto format = config::format_of(one.file);
  if (!format)
    throw core::InputError(fmt::format(
        "--set edits .yaml, .json and .toml files, and {} is none; write {{batch}} into "
        "a copy of it instead",
        shown(one.file)));
  std::string text = one.text;
  for (const Edit& edit : edits) {
    try {
      text = config::with_value(text, *format, edit.key, expand(edit.value, setting));
    } catch (const core::InputError& error) {
      throw core::InputError(fmt::format("--set in {}: {}", shown(one.file), error.what()));
    }
  }
  return text;
}

void check_templates(const Options& options) {
  if (options.templates.empty()) {
    if (!options.edits.empty())
      throw core::InputError(
          fmt::format("--set {} has no file to be set in; name it, as in --template config.yaml",
                      core::printable(options.edits.front().key)));
    return;
  }
  const bool several = options.templates.size() > 1;
  if (several && mentions(options, "{config}"))
    throw core::InputError(
        fmt::format("{{config}} may be either of {} templates; name one, as in {{config:{}}}",
                    options.templates.size(), template_name(options.templates.front())));
  for (const Template& one : options.templates) {
    const std::string name = template_name(one), own = fmt::format("{{config:{}}}", name);
    if (std::ranges::count(options.templates, name, template_name) > 1)
      throw core::InputError(
          fmt::format("two templates are called {}; give one of them another name", name));
    filled(options, one, {});  // throws for what cannot be set
    if (one.copy)
      check_copy(options, one);
    else if (!mentions(options, own) && (several || !mentions(options, "{config}")))
      throw core::InputError(fmt::format(
          "nothing reads the filled copy of {0}; write {1} where the program takes its path, or "
          "--template {0}:COPY where it looks for a fixed one",
          shown(one.file), several ? own : "{config}"));
  }
}

}  // namespace sweetspot::workload::command
