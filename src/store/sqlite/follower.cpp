#include "store/sqlite/follower.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>

#include "store/sqlite/errors.h"
#include "store/sqlite/file.h"
#include "store/sqlite/identity.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/rows.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

// Keeps one connection, since SQLite counts what others commit for each of them.
class SqliteFollower : public Follower {
 public:
  explicit SqliteFollower(fs::path file) : file_(std::move(file)) {}

  bool changed() override {
    bool changed = false;
    guarded(file_, [&] { changed = reopened() || committed() || writer_went(); });
    return changed;
  }

 private:
  // The file may come, go and be replaced while we follow it.
  bool reopened() {
    if (database_ && identity_->still_at(file_)) return false;
    const bool was_there = database_ != nullptr;
    database_.reset();
    if ((database_ = open_for_reading(file_))) {
      identity_.emplace(file_);
      version_ = data_version();
      note_writers();
    }
    const bool first = std::exchange(first_, false);
    return first || was_there || database_;
  }

  bool committed() {
    if (!database_) return false;
    const int version = data_version();
    if (version == version_) return false;
    version_ = version;
    note_writers();
    return true;
  }

  int data_version() { return database_->execAndGet("PRAGMA data_version").getInt(); }

  // A process that is killed commits nothing: it only lets go of its lock.
  void note_writers() {
    written_.clear();
    for (const trial::Study& study : select_studies(*database_))
      if (study.state == trial::StudyState::running)
        written_[study.id] = is_locked(file_, study.id);
  }

  bool writer_went() {
    bool changed = false;
    for (auto& [study, locked] : written_)
      if (locked && !is_locked(file_, study)) locked = false, changed = true;
    return changed;
  }

  fs::path file_;
  std::unique_ptr<SQLite::Database> database_;
  std::optional<Identity> identity_;
  int version_ = 0;
  std::map<std::int64_t, bool> written_;  // the running studies: is somebody writing them?
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Follower> open_follower(const fs::path& file) {
  return std::make_unique<SqliteFollower>(file);
}

}  // namespace sweetspot::store::sqlite
