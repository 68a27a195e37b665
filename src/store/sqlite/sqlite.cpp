#include "store/sqlite/sqlite.h"

#include <fmt/format.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lock.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

// A new file name, in a new folder under the temporary directory.
fs::path rescue_place() {
  std::error_code none;
  const auto temporary = fs::temp_directory_path(none);
  std::string folder = ((none ? "/tmp" : temporary) / "sweetspot-rescued-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    throw core::MachineError(
        "the database was removed during the run, and its trials cannot be "
        "kept in " +
        folder + "; pass --db other.db");
  return fs::path(folder) / "sweetspot.db";
}

class SqliteSession : public Session {
 public:
  explicit SqliteSession(Place place) : place_(std::move(place)) {
    guarded(place_, [&] { connection_ = open_for_writing(place_); });
  }

  // If the file of a locked study was removed meanwhile, its contents are rescued, and the user is
  // told.
  void transact(const std::function<void(Connection&)>& work) override {
    if (!rescued_to_.empty()) fail_gone();
    guarded(place_, [&] {
      Transaction transaction(*connection_, connection_->dialect.begin);
      work(*connection_);
      transaction.commit();
    });
    // An unlinked file still accepts writes, and is lost at the end.
    if (lock_ && !connection_->is_current()) rescue();
  }

  bool lock(Connection&, std::int64_t study, Share share) override {
    lock_ = try_lock(place_.locks, study, share);
    return lock_.has_value();
  }

 private:
  void rescue() {
    const fs::path copy = rescue_place();
    guarded(Place(copy), [&] { connection_->run("VACUUM INTO $1", {copy.string()}); });
    rescued_to_ = copy;
    fail_gone();
  }

  [[noreturn]] void fail_gone() const {
    const std::string copy = core::printable(rescued_to_.string());
    throw core::MachineError(
        fmt::format("{} was removed during the run; its finished trials are kept in {}, go on with "
                    "--db {}",
                    place_.shown, copy, copy));
  }

  Place place_;
  std::unique_ptr<Connection> connection_;
  std::optional<Lock> lock_;
  fs::path rescued_to_;
};

// Opens the file at each call, in well under a millisecond.
class SqliteDatabase : public Database {
 public:
  explicit SqliteDatabase(Place place) : place_(std::move(place)) {}

  std::unique_ptr<Session> open_session() const override {
    return std::make_unique<SqliteSession>(place_);
  }
  std::unique_ptr<Connection> open_reader() const override { return open_for_reading(place_); }
  void guarded(const std::function<void()>& work) const override { sqlite::guarded(place_, work); }
  std::string shown() const override { return place_.shown; }
  std::string_view another() const override { return "--db other.db"; }

 private:
  Place place_;
};

}  // namespace

std::unique_ptr<Database> open(const fs::path& file) {
  return std::make_unique<SqliteDatabase>(Place(file));
}

std::unique_ptr<Database> open_in_memory() {
  return std::make_unique<SqliteDatabase>(Place::in_memory());
}

}  // namespace sweetspot::store::sqlite
