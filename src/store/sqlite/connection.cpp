#include "store/sqlite/connection.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"
#include "store/schema.h"
#include "store/sqlite/lock.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;
using Opened = std::unique_ptr<SQLite::Database>;

// 2440587.5 is the Julian day of 1970. One process writes at a time, and nobody waits for rows.
const Dialect sqlite_dialect{.id = "INTEGER PRIMARY KEY AUTOINCREMENT",
                             .key = "INTEGER PRIMARY KEY",
                             .bytes = "BLOB",
                             .by_hash = "",
                             .begin = "BEGIN IMMEDIATE",
                             .snapshot = "BEGIN",
                             .take_turns = "SELECT 0",
                             .skip_locked = "",
                             .now = "((julianday('now') - 2440587.5) * 86400.0)",
                             .up_since = "0"};

void bind(SQLite::Statement& statement, int index, const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.held()))
    statement.bind(index, *whole);
  else if (const auto* real = std::get_if<double>(&value.held()))
    statement.bind(index, *real);
  else if (const auto* text = std::get_if<std::string>(&value.held()))
    statement.bindNoCopy(index, *text);
  else if (const auto* blob = std::get_if<Blob>(&value.held()))
    statement.bindNoCopy(index, blob->bytes.data(), static_cast<int>(blob->bytes.size()));
  else
    statement.bind(index);
}

Value value_of(const SQLite::Column& column) {
  if (column.isInteger()) return column.getInt64();
  if (column.isFloat()) return column.getDouble();
  if (column.isText()) return column.getString();
  if (column.isBlob()) return Blob{column.getString()};
  return {};
}

}  // namespace

SqliteConnection::SqliteConnection(Place place, Opened database)
    : Connection(sqlite_dialect),
      place_(std::move(place)),
      identity_(identity_of(place_.file)),
      database_(std::move(database)) {}

SqliteConnection::~SqliteConnection() = default;

Rows SqliteConnection::run(const std::string& sql, const Values& values) {
  SQLite::Statement statement(*database_, sql);
  for (std::size_t i = 0; i < values.size(); ++i)
    bind(statement, statement.getIndex(fmt::format("${}", i + 1).c_str()), values[i]);
  Rows rows;
  while (statement.executeStep()) {
    Values& row = rows.emplace_back();
    for (int column = 0; column < statement.getColumnCount(); ++column)
      row.push_back(value_of(statement.getColumn(column)));
  }
  return rows;
}

bool SqliteConnection::is_current() const { return identity_of(place_.file) == identity_; }

Ids SqliteConnection::held(const Ids& studies) {
  Ids held;
  for (const std::int64_t study : studies)
    if (is_locked(place_.locks, study)) held.push_back(study);
  return held;
}

// SQLite counts other connections' commits per connection.
std::string SqliteConnection::glance(const Ids& studies) {
  return fmt::format("{} {}", run("PRAGMA data_version", {})[0][0].whole(),
                     fmt::join(held(studies), ","));
}

namespace {

// Other writers of the same file hold it for milliseconds, unless their disk is very slow.
constexpr int busy_timeout_ms = 10000;

// In the file's header: distinguishes our files from other programs'.
constexpr int application_id = 0x73777370;  // "swsp"

enum class Kind { empty, ours, foreign };

int number_of(SQLite::Database& database, const char* sql) {
  return database.execAndGet(sql).getInt();
}

int version_of(SQLite::Database& database) { return number_of(database, "PRAGMA user_version"); }

// A consistent snapshot: another process may be creating the file.
Kind kind_of(SQLite::Database& database) {
  const SQLite::Transaction snapshot(database);
  if (number_of(database, "PRAGMA application_id") == application_id) return Kind::ours;
  const bool blank = number_of(database, "SELECT count(*) FROM sqlite_schema") == 0;
  return blank && version_of(database) == 0 ? Kind::empty : Kind::foreign;
}

Opened connect(const Place& place, int flags) {
  return std::make_unique<SQLite::Database>(place.name, flags, busy_timeout_ms, place.vfs);
}

// SQLite cannot read a write-ahead log if it may not create its index next to it. A file that
// nobody can write, and that has no log, may be read as immutable.
Opened connect_frozen(const Place& place) {
  std::string uri = "file:";
  for (const char c : place.name)
    uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return std::make_unique<SQLite::Database>(uri + "?immutable=1",
                                            SQLite::OPEN_READONLY | SQLite::OPEN_URI);
}

bool has_log(const Place& place) {
  std::error_code none;
  return fs::file_size(place.file.string() + "-wal", none) > 0 && !none;
}

// InputError if the database is not ours, or has other tables. It stays as it is to the byte: the
// last connection to close would write the log into it.
Kind checked(SQLite::Database& database, const Place& place) {
  const Kind kind = kind_of(database);
  if (kind == Kind::empty || (kind == Kind::ours && version_of(database) == schema_version))
    return kind;
  if (has_log(place))
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (kind == Kind::foreign)
    throw core::InputError(
        fmt::format("{} is a database of another program; pass --db other.db", place.shown));
  check_version(version_of(database), place.shown, "move it away", "--db other.db");
  return kind;
}

bool is_wal(SQLite::Database& database) {  // not, for one that was rescued
  return database.execAndGet("PRAGMA journal_mode").getString() == "wal";
}

// One process at a time creates the tables: SQLite does not wait for a lock when it changes the
// journal mode.
void set_up(SQLite::Database& database, const Place& place) {
  const std::optional<Lock> lock =
      try_lock_for(std::chrono::milliseconds(busy_timeout_ms), place.locks, setup);
  if (!lock) throw SQLite::Exception("being set up", SQLITE_BUSY);
  database.exec("PRAGMA journal_mode = WAL");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (version_of(database) != 0) return;  // there are tables, or another process was faster
  database.exec(schema(sqlite_dialect));
  database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id,
                            schema_version));
  transaction.commit();
}

}  // namespace

std::unique_ptr<Connection> open_for_writing(const Place& place) {
  check(place);
  Opened database = connect(place, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const Kind kind = checked(*database, place);
  if (sqlite3_db_readonly(database->getHandle(), "main") == 1)
    throw SQLite::Exception("read-only", SQLITE_READONLY);
  if (kind == Kind::empty || !is_wal(*database)) set_up(*database, place);
  database->exec("PRAGMA synchronous = FULL");
  database->exec("PRAGMA foreign_keys = ON");
  return std::make_unique<SqliteConnection>(place, std::move(database));
}

std::unique_ptr<Connection> open_for_reading(const Place& place) {
  check(place);
  std::error_code status;
  if (!place.file.empty() && !fs::exists(place.file, status) && !status) return nullptr;
  // Read-write if permitted: the last connection to close then removes the log.
  Opened database = connect(place, SQLite::OPEN_READWRITE);
  Kind kind{};
  try {
    kind = checked(*database, place);
  } catch (const SQLite::Exception& error) {
    const bool no_index =
        error.getErrorCode() == SQLITE_CANTOPEN || error.getErrorCode() == SQLITE_READONLY;
    if (!no_index || has_log(place)) throw;
    database = connect_frozen(place);
    kind = checked(*database, place);
  }
  if (kind == Kind::empty) return nullptr;
  database->exec("PRAGMA query_only = ON");
  return std::make_unique<SqliteConnection>(place, std::move(database));
}

namespace {

[[noreturn]] void fail_damaged(const std::string& shown) {
  throw core::InputError(fmt::format("{} is damaged; move it away, or pass --db other.db", shown));
}

[[noreturn]] void explain(const SQLite::Exception& error, const Place& place) {
  const std::string& shown = place.shown;
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
      throw core::InputError(
          fmt::format("{} is not a database; pass --db other.db, or move it away", shown));
    case SQLITE_CORRUPT:
      fail_damaged(shown);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw core::MachineError(fmt::format(
          "{} is kept locked by another program; wait for it, or pass --db other.db", shown));
    case SQLITE_FULL:
      throw core::MachineError(
          fmt::format("no space is left for {}; the finished trials are kept, free some space and "
                      "run it again, or pass --db other.db",
                      shown));
    case SQLITE_IOERR:
      throw core::MachineError(
          fmt::format("{} could not be read or written ({}); the finished trials are kept, check "
                      "its disk, or pass --db other.db",
                      shown, error.what()));
    case SQLITE_CANTOPEN:
      check(place);
      throw core::InputError(
          fmt::format("{} cannot be opened; make it and its folder readable and writable, or pass "
                      "--db other.db",
                      shown));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      check(place);
      throw core::InputError(fmt::format(
          "{} cannot be written; make it and its folder writable, or pass --db other.db", shown));
    default:
      throw core::MachineError(
          fmt::format("{} failed ({}); pass --db other.db", shown, error.what()));
  }
}

}  // namespace

void guarded(const Place& place, const std::function<void()>& work) {
  try {
    work();
  } catch (const SQLite::Exception& error) {
    explain(error, place);
  } catch (const Damaged&) {
    fail_damaged(place.shown);
  }
}

}  // namespace sweetspot::store::sqlite
