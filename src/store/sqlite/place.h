#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sweetspot::store::sqlite {

// Where a database is: a file, or the memory of this process.
struct Place {
  explicit Place(std::filesystem::path file);
  static Place in_memory();

  std::string shown;            // printable
  std::filesystem::path file;   // empty: in memory
  std::filesystem::path locks;  // the file whose bytes are its locks (lock.h)
  std::string name, vfs;        // for SQLite
  std::shared_ptr<void> kept;   // what is in memory

 private:
  Place() = default;
};

// InputError if no database can be there: it is a folder, its folder does not exist, or it is on a
// network file system.
void check(const Place& place);

// "NFS" for the kernel's number of a network file system (statfs(2)); nullopt for local and unknown
// ones.
std::optional<std::string_view> network_file_system(unsigned long type);

// Of the file a path leads to, if any, to notice that it was removed or replaced while open.
using Identity = std::optional<std::pair<dev_t, ino_t>>;
Identity identity_of(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
