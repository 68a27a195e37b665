#include "workload/command/program_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::workload::command {
namespace {

namespace fs = std::filesystem;

std::string search_path(const Options& options) {
  for (const auto& [name, value] : options.environment)
    if (name == "PATH") return value;
  const char* ours = std::getenv("PATH");
  return ours ? ours : "/usr/local/bin:/usr/bin:/bin";
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

bool is_on_path(const std::string& program, const Options& options) {
  std::istringstream folders(search_path(options));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_there(options.folder.value_or(".") / fs::path(folder.empty() ? "." : folder) / program))
      return true;
  return false;
}

}  // namespace

void check_program_file(const Options& options) {
  std::error_code error;
  if (options.prepare) return;
  if (options.folder && options.folder->string().find('{') != std::string::npos) return;
  if (options.folder && !fs::is_directory(*options.folder, error))
    throw core::InputError(fmt::format("--cwd {} is no folder; name one that is there",
                                       core::printable(options.folder->string())));
  const std::string& program = options.argv.front();
  if (options.shell || program.find('{') != std::string::npos) return;
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path ? is_there(options.folder.value_or(".") / fs::path(program))
              : is_on_path(program, options))
    return;
  const char* way_out = is_path ? "is no program that can be run; check its path, chmod +x it, or "
                                  "name its interpreter before it"
                                : "was not found on PATH; install it, or give its path";
  throw core::InputError(fmt::format("{} {}", core::printable(program), way_out));
}

}  // namespace sweetspot::workload::command
