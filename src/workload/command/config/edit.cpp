#include "workload/command/config/edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/text.h"
#include "workload/command/config/entries.h"

namespace sweetspot::workload::command::config {
namespace {

using Kind = Entry::Kind;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::vector<Entry> entries(std::string_view text, Format format) {
  switch (format) {
    case Format::yaml:
      return yaml_entries(text);
    case Format::json:
      return json_entries(text);
    case Format::toml:
      return toml_entries(text);
  }
  return {};
}

// Normalises a key: indices after dots, names without quotation marks.
std::string spelling(std::string_view key) {
  std::string plain;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '[' && i > 0)
      plain += '.';
    else if (key[i] != '[' && key[i] != ']' && key[i] != '"' && key[i] != '\'')
      plain += key[i];
  }
  return plain;
}

std::string spelling(const std::vector<std::string>& path) {
  return spelling(fmt::format("{}", fmt::join(path, ".")));
}

// As users write it: lists in brackets.
std::string shown(const Entry& entry) {
  std::string text;
  for (const std::string& part : entry.path) {
    const bool index = !text.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    text += index ? fmt::format("[{}]", part) : (text.empty() ? "" : ".") + part;
  }
  return core::printable(text);
}

std::vector<const Entry*> find(const std::vector<Entry>& all, std::string_view key) {
  const std::string asked = spelling(key);
  std::vector<const Entry*> found;
  for (const Entry& entry : all)
    if (!entry.path.empty() && spelling(entry.path) == asked) found.push_back(&entry);
  return found;
}

// If YAML includes a map by *name or <<: *name, and the key is in that.
const Entry* find_behind_alias(const std::vector<Entry>& all, std::string_view key) {
  const std::string asked = spelling(key);
  for (const Entry& user : all) {
    if (user.alias.empty()) continue;
    std::vector<std::string> place = user.path;
    while (!place.empty() &&
           (place.back() == "<<" || (place.size() > 1 && place[place.size() - 2] == "<<")))
      place.pop_back();
    const std::string prefix = place.empty() ? "" : spelling(place) + ".";
    if (!asked.starts_with(prefix)) continue;
    const auto source = std::ranges::find(all, user.alias, &Entry::anchor);
    if (source == all.end() || source->path.empty()) continue;
    const auto found = find(all, spelling(source->path) + "." + asked.substr(prefix.size()));
    if (!found.empty()) return found.front();
  }
  return nullptr;
}

std::string nearest(const std::vector<Entry>& all, std::string_view key) {
  constexpr std::size_t most = 3;
  const std::string asked = spelling(key).substr(0, 100);
  const std::string last = asked.substr(asked.rfind('.') + 1);
  std::vector<std::pair<std::tuple<bool, std::size_t>, std::string>> names;
  for (const Entry& entry : all)
    if (!entry.path.empty() && entry.kind == Kind::scalar)
      names.push_back({{entry.path.back() != last,
                        core::edit_distance(asked, spelling(entry.path).substr(0, 100))},
                       shown(entry)});
  std::ranges::stable_sort(names, {}, [](const auto& name) { return name.first; });
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) nearest.push_back(names[i].second);
  return core::joined(nearest);
}

const Entry& only(const std::vector<Entry>& all, std::string_view key) {
  const std::string name = core::printable(key);
  const auto found = find(all, key);
  if (found.empty()) {
    if (const Entry* source = find_behind_alias(all, key))
      throw core::InputError(
          fmt::format("{} is not there itself, but comes from {}; set that instead, or write the "
                      "key where it is to differ",
                      name, shown(*source)));
    const std::string near = nearest(all, key);
    throw core::InputError(near.empty()
                               ? fmt::format("{} is not there, nor is any other key", name)
                               : fmt::format("{} is not there; the nearest are {}", name, near));
  }
  // The last of equal keys counts, but two different ones may be spelled alike.
  for (const Entry* entry : found)
    if (entry->path != found.front()->path)
      throw core::InputError(fmt::format(
          "{} may be either of two keys of which one has a dot in its name; rename one", name));
  const Entry& entry = *found.back();
  if (entry.kind != Kind::scalar)
    throw core::InputError(fmt::format("{} holds a {}, not a value; name a key in it", name,
                                       entry.kind == Kind::map ? "map" : "list"));
  return entry;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

std::string in_quotation_marks(const std::string& value) {
  using Json = nlohmann::json;
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_yaml_value(const std::string& value) {
  if (value.empty() || value.find_first_of("\r\n") != std::string::npos) return false;
  try {  // in brackets, where more characters would end it than on its own line
    const std::vector<Entry> all = yaml_entries("[" + value + "]");
    if (all.size() < 2 || all[1].from != 1 || all[1].to != 1 + value.size()) return false;
    if (std::ranges::count(all, 1u, [](const Entry& e) { return e.path.size(); }) != 1)
      return false;
    return all[1].kind != Kind::scalar || all[1].quoted || all[1].value == value;
  } catch (const core::InputError&) {
    return false;
  }
}

bool is_toml_value(const std::string& value) {
  if (value.find_first_of("\r\n") != std::string::npos) return false;
  try {
    const std::vector<Entry> all = toml_entries("x = " + value);
    return all.size() >= 2 && all[1].to == 4 + value.size();
  } catch (const core::InputError&) {
    return false;
  }
}

// In the syntax of the format.
std::string written(const std::string& value, Format format) {
  const bool as_it_is = format == Format::yaml   ? is_yaml_value(value)
                        : format == Format::json ? nlohmann::json::accept(value)
                                                 : is_toml_value(value);
  return as_it_is ? value : in_quotation_marks(value);
}

}  // namespace

std::optional<Format> format_of(const std::filesystem::path& file) {
  // "config.yaml.in" is a template.
  constexpr std::array models{".in", ".template", ".tmpl", ".example"};
  if (std::ranges::find(models, file.extension()) != models.end()) return format_of(file.stem());
  const std::string ending = core::lower(file.extension().string());
  if (ending == ".yaml" || ending == ".yml") return Format::yaml;
  if (ending == ".json" || ending == ".jsonc") return Format::json;
  if (ending == ".toml") return Format::toml;
  return std::nullopt;
}

bool has_key(std::string_view text, Format format, std::string_view key) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return !find(entries(text, format), key).empty();
}

std::string with_value(std::string_view text, Format format, std::string_view key,
                       const std::string& value) {
  const std::size_t mark = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  const std::string_view body = text.substr(mark);
  const std::vector<Entry> all = entries(body, format);
  const Entry& entry = only(all, key);
  const bool stays_quoted = entry.quoted && is_number(entry.value) && is_number(value);
  std::string put = stays_quoted ? in_quotation_marks(value) : written(value, format);
  if (entry.from == entry.to) put = " " + put;  // "key:" without a value
  if (entry.block) put += '\n';
  std::string out(text.substr(0, mark));
  out += body.substr(0, entry.from);
  out += put;
  out += body.substr(entry.to);
  // A file that no longer parses as it should is worse than none.
  const std::vector<Entry> after = entries(std::string_view(out).substr(mark), format);
  if (find(after, key).empty())
    throw core::InputError(
        fmt::format("{} cannot be set to '{}' here", core::printable(key), core::printable(value)));
  return out;
}

}  // namespace sweetspot::workload::command::config
