#include "probe/cpu/cache_file.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sweetspot::probe::cpu {

namespace fs = std::filesystem;

std::optional<fs::path> cache_file(const std::string& name) {
  // The XDG specification: a relative path is to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "sweetspot" / name;
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "sweetspot" / name;
  return std::nullopt;
}

bool write_cache(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path fresh = file.string() + "." + std::to_string(getpid());
  std::ofstream out(fresh);
  out << text;
  out.close();
  if (out) fs::rename(fresh, file, error);
  if (out && !error) return true;
  fs::remove(fresh, error);
  return false;
}

}  // namespace sweetspot::probe::cpu
