// The fetched data sets: where they lie, and whether they are whole.
#include "data/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/files.h"
#include "data/sources.h"

namespace sweetspot::data {
namespace fs = std::filesystem;

fs::path cache_root() {
  // The XDG specification: a relative path is to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "sweetspot";
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "sweetspot";
  throw core::MachineError(
      "there is no place for fetched data sets: neither XDG_CACHE_HOME nor HOME is an absolute "
      "path; "
      "set one of them, or pass --data DIR");
}

bool is_package_fetched(const Package& package) {
  const fs::path folder = cache_root() / package.name;
  return std::all_of(package.files.begin(), package.files.end(), [&](const PackagedFile& file) {
    std::error_code error;
    return fs::file_size(folder / file.name, error) == file.size && !error;
  });
}

void verify_package(const Package& package) {
  const std::string way_out = fmt::format("run 'sweetspot data fetch {}'", package.name);
  if (!is_package_fetched(package))
    throw core::InputError(fmt::format("the data set {} is not in {}; {}", package.name,
                                       core::printable(cache_root().string()), way_out));
  for (const PackagedFile& file : package.files) {
    const fs::path path = cache_root() / package.name / file.name;
    if (sha256_of_file(path) != file.sha256)
      throw core::InputError(fmt::format("{} differs from the published file (SHA-256); {}",
                                         core::printable(path.string()), way_out));
  }
}

fs::path cache_folder(std::string_view name) { return cache_root() / find_package(name).name; }
bool is_fetched(std::string_view name) { return is_package_fetched(find_package(name)); }
void verify(std::string_view name) { verify_package(find_package(name)); }

}  // namespace sweetspot::data
