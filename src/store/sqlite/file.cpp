#include "store/sqlite/file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/schema.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;
using Connection = std::unique_ptr<SQLite::Database>;

// Other writers of the same file hold it for milliseconds, unless their disk is very slow.
constexpr int busy_timeout_ms = 10000;

Connection connect(const fs::path& file, int flags) {
  // An absolute path is never one of SQLite's special names, and survives a change of folder.
  return std::make_unique<SQLite::Database>(fs::absolute(file).string(), flags, busy_timeout_ms);
}

// SQLite cannot read a write-ahead log where it may not make its index beside it. A file that
// nobody can write, and that has no log, may be read as it is.
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

// One process at a time makes or migrates a file: SQLite does not wait its turn when the journal
// mode is in question.
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
  // With the right to write where there is one: the last to close then tidies the log away.
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
