#include "store/sqlite/sqlite.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>

#include "store/sqlite/errors.h"
#include "store/sqlite/file.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/queue.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/writer.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

// Keeps one connection, since SQLite counts other connections' commits per connection.
class SqliteFollower : public Follower {
 public:
  explicit SqliteFollower(fs::path file) : file_(std::move(file)) {}

  bool changed() override {
    bool changed = false;
    guarded(file_, [&] { changed = reopened() || committed() || writer_went(); });
    return changed;
  }

 private:
  // The file may appear, disappear and be replaced while we follow it.
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

  // A killed process commits nothing: it only releases its lock.
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
  std::map<std::int64_t, bool> written_;  // the running studies: does somebody write them?
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Follower> open_follower(const fs::path& file) {
  return std::make_unique<SqliteFollower>(file);
}

namespace {

// Each call opens the file again, in well under a millisecond: nothing is shared between threads,
// and a reader holds nothing that a writer could wait for.
class SqliteStore : public Store {
 public:
  explicit SqliteStore(fs::path file) : file_(std::move(file)) {}

  std::unique_ptr<Writer> open_study(const trial::StudyKey& study_key,
                                     const trial::Environment& environment, bool fresh) override {
    return open_writer(file_, study_key, environment, fresh);
  }

  std::unique_ptr<Queue> join_study(const trial::StudyKey& study_key,
                                    const trial::Environment& environment,
                                    const QueueTerms& terms) override {
    return open_queue(file_, study_key, environment, terms);
  }

  std::vector<trial::Study> studies() const override { return read(std::nullopt, false); }

  std::optional<trial::Study> study(std::int64_t id) const override {
    auto found = read(id, true);
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }

  std::optional<trial::Trial> trial(std::int64_t id) const override {
    std::optional<trial::Trial> found;
    guarded(file_, [&] {
      const auto database = open_for_reading(file_);
      if (!database) return;
      SQLite::Transaction snapshot(*database);
      const auto study = study_of(*database, id);
      if (!study) return;
      for (trial::Trial& trial : select_trials(*database, *study))
        if (trial.id == id) found = std::move(trial);
      read_steps_and_trace(*database, found.value());
    });
    return found;
  }

  std::vector<Attempt> attempts(std::int64_t study) const override {
    std::vector<Attempt> found;
    guarded(file_, [&] {
      if (const auto database = open_for_reading(file_)) found = select_attempts(*database, study);
    });
    return found;
  }

  std::unique_ptr<Follower> follow() const override { return open_follower(file_); }

  bool remove(std::int64_t id) override {
    bool removed = false;
    guarded(file_, [&] {
      if (!open_for_reading(file_)) return;
      const auto database = open_for_writing(file_);
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      const auto lock = try_lock(file_, id);
      if (!lock) fail_locked(file_, id, last_pid(*database, id));
      removed = delete_study(*database, id);
      transaction.commit();
    });
    return removed;
  }

 private:
  std::vector<trial::Study> read(std::optional<std::int64_t> id, bool with_steps) const {
    std::vector<trial::Study> studies;
    guarded(file_, [&] {
      const auto database = open_for_reading(file_);
      if (!database) return;
      studies = select_all(*database, id, with_steps);
      for (trial::Study& study : studies)
        if (has_no_writer(study)) {
          study.state = state_without_writer(*database, study.id);
          study.running.reset();
        }
    });
    return studies;
  }

  static std::vector<trial::Study> select_all(SQLite::Database& database,
                                              std::optional<std::int64_t> id, bool with_steps) {
    SQLite::Transaction snapshot(database);
    auto studies = select_studies(database, id);
    for (trial::Study& study : studies) {
      study.trials = select_trials(database, study.id);
      if (!with_steps) continue;
      for (trial::Trial& trial : study.trials) read_steps_and_trace(database, trial);
    }
    return studies;
  }

  bool has_no_writer(const trial::Study& study) const {
    return study.state == trial::StudyState::running && !is_locked(file_, study.id);
  }

  // Its process ended: it set the state since we read, or, if the state is still running, it was
  // killed.
  trial::StudyState state_without_writer(SQLite::Database& database, std::int64_t id) const {
    const auto now = select_studies(database, id);
    if (now.empty() || has_no_writer(now.front())) return trial::StudyState::stopped;
    return now.front().state;
  }

  fs::path file_;
};

}  // namespace

std::unique_ptr<Store> open(const fs::path& file) { return std::make_unique<SqliteStore>(file); }

}  // namespace sweetspot::store::sqlite
