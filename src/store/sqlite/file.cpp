#include "store/sqlite/file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/migrations.h"

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

namespace {

struct NetworkKind {
  unsigned long type;
  std::string_view name;
};
// From statfs(2), linux/magic.h and the file systems' own sources.
constexpr NetworkKind network_kinds[] = {
    {0x6969, "NFS"},         {0xFF534D42, "SMB"},    {0xFE534D42, "SMB"},   {0x517B, "SMB"},
    {0x5346414F, "AFS"},     {0x73757245, "Coda"},   {0x00C36400, "Ceph"},  {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},    {0x19830326, "BeeGFS"}, {0x7461636F, "OCFS2"}, {0x01161970, "GFS2"},
    {0x20030528, "OrangeFS"}};

}  // namespace

std::optional<std::string_view> network_file_system(unsigned long type) {
  for (const NetworkKind& kind : network_kinds)
    if (kind.type == type) return kind.name;
  return std::nullopt;
}

void check_local(const std::filesystem::path& file) {
  struct statfs found {};
  if (::statfs(std::filesystem::absolute(file).parent_path().c_str(), &found) != 0) return;
  // The number is signed in the kernel's structure, and 32 bits wide.
  const auto name = network_file_system(static_cast<unsigned long>(found.f_type) & 0xFFFFFFFF);
  if (!name) return;
  throw core::InputError(fmt::format(
      "{} is on a network file system ({}), where SQLite's files come to harm; pass --db with a "
      "file on a disk of this machine, or --db postgresql://HOST/DATABASE for several machines",
      core::printable(file.string()), *name));
}

namespace {

namespace fs = std::filesystem;
using Connection = std::unique_ptr<SQLite::Database>;

// Other writers of the same file hold it for milliseconds, unless their disk is very slow.
constexpr int busy_timeout_ms = 10000;

Connection connect(const fs::path& file, int flags) {
  // An absolute path is never one of SQLite's special names, and survives a change of directory.
  return std::make_unique<SQLite::Database>(fs::absolute(file).string(), flags, busy_timeout_ms);
}

// SQLite cannot read a write-ahead log if it may not create its index next to it. A file that
// nobody can write, and that has no log, may be read as immutable.
Connection connect_frozen(const fs::path& file) {
  std::string uri = "file:";
  for (const char c : fs::absolute(file).string())
    uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return std::make_unique<SQLite::Database>(uri + "?immutable=1",
                                            SQLite::OPEN_READONLY | SQLite::OPEN_URI);
}

bool has_log(const fs::path& file) {
  std::error_code none;
  return fs::file_size(file.string() + "-wal", none) > 0 && !none;
}

bool is_wal(SQLite::Database& database) {
  return database.execAndGet("PRAGMA journal_mode").getString() == "wal";
}

void check_version(SQLite::Database& database, const fs::path& file) {
  const std::string shown = core::printable(file.string());
  if (kind_of(database) == Kind::foreign)
    throw core::InputError(
        fmt::format("{} is a database of another program; pass --db other.db", shown));
  if (const int version = version_of(database); version > schema_version())
    throw core::InputError(fmt::format(
        "{} was written by a newer sweetspot (its schema is {}, this program knows {}); "
        "update sweetspot, or pass --db other.db",
        shown, version, schema_version()));
}

// One process at a time creates or migrates a file: SQLite does not wait for a lock when it changes
// the journal mode.
void set_up(SQLite::Database& database, const fs::path& file) {
  if (version_of(database) == schema_version() && is_wal(database)) return;
  const std::optional<Lock> lock =
      try_lock_for(std::chrono::milliseconds(busy_timeout_ms), file, setup);
  if (!lock) throw SQLite::Exception("being set up", SQLITE_BUSY);
  database.exec("PRAGMA journal_mode = WAL");
  migrate(database);
}

void check_writable(SQLite::Database& database) {
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1)
    throw SQLite::Exception("read-only", SQLITE_READONLY);
}

}  // namespace

Connection open_for_writing(const fs::path& file) {
  check_place(file);
  Connection database = connect(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  check_version(*database, file);
  check_writable(*database);
  set_up(*database, file);
  database->exec("PRAGMA synchronous = FULL");
  database->exec("PRAGMA foreign_keys = ON");
  return database;
}

Connection open_for_reading(const fs::path& file) {
  check_place(file);
  std::error_code status;
  if (!fs::exists(file, status) && !status) return nullptr;
  // Read-write if permitted: the last connection to close then removes the log.
  Connection database = connect(file, SQLite::OPEN_READWRITE);
  try {
    check_version(*database, file);
  } catch (const SQLite::Exception& error) {
    const bool no_index =
        error.getErrorCode() == SQLITE_CANTOPEN || error.getErrorCode() == SQLITE_READONLY;
    if (!no_index || has_log(file)) throw;
    database = connect_frozen(file);
    check_version(*database, file);
  }
  if (kind_of(*database) == Kind::empty) return nullptr;
  if (version_of(*database) < schema_version()) {
    check_writable(*database);
    set_up(*database, file);
  }
  database->exec("PRAGMA query_only = ON");
  return database;
}

}  // namespace sweetspot::store::sqlite
