#include "store/sqlite/errors.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/file.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_damaged(const std::string& shown) {
  throw core::InputError(fmt::format("{} is damaged; move it away, or pass --db other.db", shown));
}

[[noreturn]] void explain(const SQLite::Exception& error, const fs::path& file) {
  const std::string shown = core::printable(file.string());
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
      check_place(file);
      throw core::InputError(
          fmt::format("{} cannot be opened; make it and its folder readable and writable, or pass "
                      "--db other.db",
                      shown));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      check_place(file);
      throw core::InputError(fmt::format(
          "{} cannot be written; make it and its folder writable, or pass --db other.db", shown));
    default:
      throw core::MachineError(
          fmt::format("{} failed ({}); pass --db other.db", shown, error.what()));
  }
}

}  // namespace

void check_place(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    throw core::InputError(fmt::format("{} is a folder; pass --db {}",
                                       core::printable(file.string()),
                                       core::printable((file / "sweetspot.db").string())));
  const fs::path folder = fs::absolute(file).parent_path();
  if (!fs::is_directory(folder, ignored))
    throw core::InputError(
        fmt::format("the folder {} of the database does not exist; make it, or "
                    "pass --db other.db",
                    core::printable(folder.string())));
  check_local(file);
}

void guarded(const fs::path& file, const std::function<void()>& work) {
  try {
    work();
  } catch (const SQLite::Exception& error) {
    explain(error, file);
  } catch (const Damaged&) {
    fail_damaged(core::printable(file.string()));
  }
}

}  // namespace sweetspot::store::sqlite
