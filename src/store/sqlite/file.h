#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace sweetspot::store::sqlite {

// Identifies the file a path led to, to notice that it was removed or replaced while open.
class Identity {
 public:
  explicit Identity(const std::filesystem::path& file);
  bool still_at(const std::filesystem::path& file) const;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A new file name, in a new folder under the temporary directory.
std::filesystem::path rescue_place();

// "NFS" for the kernel's number of a network file system (statfs(2)); nullopt for local and unknown
// ones.
std::optional<std::string_view> network_file_system(unsigned long type);

// InputError for a file on one: they do not keep locks and shared memory, which SQLite's log needs,
// consistent between machines, and a database is silently corrupted.
void check_local(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// For writing: created if missing, migrated if older, durable at each commit.
std::unique_ptr<SQLite::Database> open_for_writing(const std::filesystem::path& file);

// For reading: creates no file; null if there is none, or it is empty. Migrated if older.
std::unique_ptr<SQLite::Database> open_for_reading(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
