#include "architecture/includes.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace sweetspot::architecture {
namespace {

// What each part may include besides itself; what those reach may be included too. A part that is
// not here does not exist.
const std::map<std::string, std::vector<std::string>> parts = {
    {"cli", {"sweep", "learning", "serve", "report"}},
    {"api", {"study", "report"}},
    {"serve", {"report", "store"}},
    {"sweep", {"study", "cluster"}},
    {"learning", {"study", "convergence"}},
    {"study", {"measure", "search", "advise", "store"}},
    {"cluster", {"store"}},
    {"report", {"advise", "trial"}},
    {"advise", {"search", "convergence", "trial"}},
    {"search", {"energy", "trial"}},
    {"measure", {"workload", "telemetry"}},
    {"workload", {"engine", "data", "probe", "trial"}},
    {"engine", {"model", "convergence", "collective"}},
    {"collective", {"core"}},
    {"telemetry", {"engine", "probe", "trial"}},
    {"data", {"core"}},
    {"model", {"core"}},
    {"probe", {"core"}},
    {"store", {"trial"}},
    {"trial", {"core"}},
    {"energy", {"stats"}},
    {"convergence", {"stats"}},
    {"stats", {"core"}},
    {"core", {}},
};

// Each heavy dependency has one room.
struct Room {
  std::string headers;  // a regular expression over the whole name
  std::vector<std::string> folders;
};
const std::vector<Room> rooms = {
    {R"((oneapi/)?dnnl.*)", {"engine/cpu/"}},
    {R"(omp\.h|immintrin\.h)", {"engine/cpu/"}},
    {R"((cuda|cudnn|cublas).*)", {"engine/cuda/", "collective/nccl/"}},
    {R"(nccl\.h)", {"collective/nccl/"}},
    {R"(mpi\.h)", {"collective/mpi/"}},
    {R"(gloo/.*)", {"collective/gloo/"}},
    {R"(nvml\.h)", {"probe/nvml/"}},
    {R"(sqlite3\.h|SQLiteCpp/.*)", {"store/sqlite/"}},
    {R"(libpq.*)", {"store/postgres/"}},
    {R"(zlib\.h|openssl/.*|curl/.*)", {"data/"}},
    {R"(CLI/.*)", {"cli/"}},
    {R"(pcre2.*)", {"workload/command/output/"}},
    {R"(yaml\.h|toml\+\+/.*)", {"workload/command/config/"}},
};

// Slow to compile: allowed in .cpp files only. Their forward declarations are light.
const std::regex heavy(
    R"(nlohmann/json\.hpp|fmt/.*|CLI/.*|SQLiteCpp/.*|(oneapi/)?dnnl.*|iostream|regex)");

void reach(const std::string& part, std::set<std::string>& reached) {
  if (!reached.insert(part).second) return;
  for (const std::string& below : parts.at(part)) reach(below, reached);
}

std::string first_folder(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_header(const std::string& file) { return file.ends_with(".h"); }

bool in_one_of(const std::string& file, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (file.starts_with(folder)) return true;
  return false;
}

// Why this include may not be there, or nothing.
std::string objection(const Include& include) {
  const std::string part = first_folder(include.file), target = first_folder(include.target);
  if (!parts.contains(part)) return "is in no part of the architecture";
  if (include.quoted && include.target.find('/') != std::string::npos) {
    std::set<std::string> allowed;
    reach(part, allowed);
    if (!parts.contains(target)) return "names no part of the architecture";
    if (!allowed.contains(target)) return "points upwards or sideways";
  }
  for (const Room& room : rooms)
    if (std::regex_match(include.target, std::regex(room.headers)) &&
        !in_one_of(include.file, room.folders))
      return "belongs in " + room.folders.front() + " only";
  if (is_header(include.file) && std::regex_match(include.target, heavy))
    return "is too heavy for a header";
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

std::vector<std::string> violations(const std::vector<Include>& includes) {
  std::vector<std::string> sentences;
  for (const Include& include : includes)
    if (const std::string why = objection(include); !why.empty())
      sentences.push_back(include.file + " includes " + include.target + ", which " + why);
  return sentences;
}

}  // namespace sweetspot::architecture
