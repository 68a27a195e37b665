#include "architecture/includes.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "architecture/tables.h"

namespace sweetspot::architecture {
namespace {

// Slow to compile: allowed in .cpp files only. Their forward declarations are light.
const std::regex heavy(R"(nlohmann/json\.hpp|fmt/.*|CLI/.*|SQLiteCpp/.*|boost/.*|iostream|regex)");

const Part* part_named(const std::string& name) {
  const auto found = std::ranges::find(parts(), name, &Part::name);
  return found == parts().end() ? nullptr : &*found;
}

void reach(const std::string& name, std::set<std::string>& reached) {
  if (!reached.insert(name).second) return;
  for (const std::string& below : part_named(name)->uses) reach(below, reached);
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_header(const std::string& file) { return file.ends_with(".h") || file.ends_with(".cuh"); }

bool in_one_of(const std::string& file, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders,
                             [&](const std::string& folder) { return file.starts_with(folder); });
}

std::vector<std::string> folders_of(const std::string& file) {
  std::vector<std::string> folders;
  for (std::size_t at = 0, end; (end = file.find('/', at)) != file.npos; at = end + 1)
    folders.push_back(file.substr(0, end));
  return folders;
}

// The folders in which two files of one part are, below the last one that has both.
bool is_between_folders(const Include& include) {
  const auto from = folders_of(include.file), to = folders_of(include.target);
  const auto [mine, other] = std::ranges::mismatch(from, to);
  if (mine == from.end() || other == to.end()) return false;
  const auto use = std::ranges::find(folder_uses(), *mine, &FolderUse::folder);
  return use == folder_uses().end() || std::ranges::find(use->uses, *other) == use->uses.end();
}

std::optional<Fault> fault_between_parts(const Include& include, const Part& part) {
  const std::string target = first_folder(include.target);
  if (!part_named(target)) return Fault::names_no_part;
  std::set<std::string> allowed;
  reach(part.name, allowed);
  if (!allowed.contains(target)) return Fault::not_downward;
  if (std::ranges::find(part.not_by_itself, target) != part.not_by_itself.end())
    return Fault::not_of_this_part;
  if (target == part.name && is_between_folders(include)) return Fault::between_folders;
  return std::nullopt;
}

std::optional<Fault> fault_of(const Include& include) {
  const Part* part = part_named(first_folder(include.file));
  if (!part) return Fault::in_no_part;
  if (include.quoted && include.target.find('/') != std::string::npos)
    if (const auto fault = fault_between_parts(include, *part)) return fault;
  for (const Dependency& dependency : dependencies())
    if (std::regex_match(include.target, std::regex(dependency.headers)) &&
        !in_one_of(include.file, dependency.folders))
      return Fault::out_of_its_folder;
  if (is_header(include.file) && std::regex_match(include.target, heavy))
    return Fault::heavy_header;
  return std::nullopt;
}

std::string_view reason(Fault fault) {
  switch (fault) {
    case Fault::in_no_part:
      return "but is itself in no part of the architecture";
    case Fault::names_no_part:
      return "which is in no part of the architecture";
    case Fault::not_downward:
      return "which is not below it";
    case Fault::not_of_this_part:
      return "which it is to reach through the parts in between";
    case Fault::between_folders:
      return "which is in a folder beside its own: move what both need up to the part";
    case Fault::out_of_its_folder:
      return "which is included in another folder only";
    case Fault::heavy_header:
      return "which is too slow to compile for a header";
  }
  return "";
}

}  // namespace

std::vector<Include> includes_of(const std::string& file, std::string_view text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::vector<Include> found;
  std::istringstream lines{std::string(text)};
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, pattern)) found.push_back({file, match[2], match[1] == "\""});
  return found;
}

std::vector<Violation> violations(const std::vector<Include>& includes) {
  std::vector<Violation> found;
  for (const Include& include : includes)
    if (const auto fault = fault_of(include)) found.push_back({include, *fault});
  return found;
}

std::string words(const Violation& violation) {
  return violation.include.file + " includes " + violation.include.target + ", " +
         std::string(reason(violation.fault));
}

}  // namespace sweetspot::architecture
