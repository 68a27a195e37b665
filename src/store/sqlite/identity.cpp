#include "store/sqlite/identity.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/error.h"

namespace sweetspot::store::sqlite {

Identity::Identity(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) device_ = status.st_dev, inode_ = status.st_ino;
}

bool Identity::still_at(const std::filesystem::path& file) const {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

std::filesystem::path rescue_place() {
  std::error_code none;
  const auto temporary = std::filesystem::temp_directory_path(none);
  std::string folder = ((none ? "/tmp" : temporary) / "sweetspot-rescued-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    throw core::MachineError(
        "the database was removed during the run, and its trials cannot be "
        "kept in " +
        folder + "; pass --db other.db");
  return std::filesystem::path(folder) / "sweetspot.db";
}

}  // namespace sweetspot::store::sqlite
