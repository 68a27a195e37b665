#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace sweetspot::store::sqlite {

// Which file a path led to: to notice that it was removed or replaced while it was open.
class Identity {
 public:
  explicit Identity(const std::filesystem::path& file);
  bool still_at(const std::filesystem::path& file) const;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A file that is not there yet, in a new folder where temporary files go.
std::filesystem::path rescue_place();

// "NFS" for the number by which the kernel tells file systems apart (statfs(2)); nothing for those
// of this machine, and for those that are not known.
std::optional<std::string_view> network_file_system(unsigned long type);

// InputError for a file on one: locks and shared memory, which SQLite's log needs, are not kept
// there between machines, and a database comes to harm without a word.
void check_local(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// For writing: made if missing, migrated if older, durable at each commit.
std::unique_ptr<SQLite::Database> open_for_writing(const std::filesystem::path& file);

// For reading: makes no file; null when there is none, or nothing in it. Migrated if older.
std::unique_ptr<SQLite::Database> open_for_reading(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
