#include "store/sqlite/queue.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "store/sqlite/errors.h"
#include "store/sqlite/file.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/writer.h"
#include "store/store.h"
#include "store/trial_fields.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;

// Seconds since 1970; 2440587.5 is its Julian day.
constexpr const char* clock_now = "((julianday('now') - 2440587.5) * 86400.0)";

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::string setting_list(std::string_view table) {
  std::string list;
  for (const std::string& column : setting_columns())
    list += fmt::format("{}{}.{}", list.empty() ? "" : ", ", table, column);
  return list;
}

// Settings of every task, done or not, and of trials without one.
std::vector<trial::Setting> settings_there(SQLite::Database& database, std::int64_t study) {
  SQLite::Statement row(
      database, fmt::format("SELECT {} FROM task WHERE study = ?1 UNION ALL"
                            " SELECT {} FROM trial WHERE study = ?1"
                            " AND id NOT IN (SELECT trial FROM task WHERE trial IS NOT NULL)",
                            setting_list("task"), setting_list("trial")));
  row.bind(1, study);
  std::vector<trial::Setting> settings;
  while (row.executeStep()) settings.push_back(setting_at(row, 0));
  return settings;
}

void insert_task(SQLite::Database& database, std::int64_t study, const trial::Setting& setting) {
  std::string names, places;
  for (const std::string& column : setting_columns()) names += column + ", ", places += "?, ";
  SQLite::Statement insert(database,
                           fmt::format("INSERT INTO task ({}study) VALUES ({}?)", names, places));
  insert.bind(bind_setting(insert, 1, setting), study);
  insert.exec();
}

template <class... Values>
int change(SQLite::Database& database, const std::string& sql, const Values&... values) {
  SQLite::Statement statement(database, sql);
  SQLite::bind(statement, values...);
  return statement.exec();
}

class SqliteQueue : public Queue {
 public:
  SqliteQueue(const fs::path& file, const trial::StudyKey& study_key,
              const trial::Environment& environment, const QueueTerms& terms)
      : file_(file),
        writer_(file, study_key, environment, false, Share::with_others),
        heart_(open_for_writing(file)),
        terms_(terms) {}

  Writer& writer() override { return writer_; }

  void plan(std::span<const trial::Setting> settings) override {
    writer_.write([&](SQLite::Database& database) {
      for (const trial::Setting& setting : missing(settings, settings_there(database, study())))
        insert_task(database, study(), setting);
    });
  }

  std::optional<Claim> claim() override {
    std::optional<Claim> claimed;
    writer_.write([&](SQLite::Database& database) {
      requeue_lost(database);
      claimed = take_next(database);
    });
    return claimed;
  }

  bool beat(const Claim& claim, std::int64_t steps) override {
    const std::lock_guard lock(heart_mutex_);
    bool ours = false;
    guarded(file_, [&] {
      ours = change(*heart_,
                    fmt::format("UPDATE attempt SET beat_at = {}, steps = ?"
                                " WHERE id = ? AND ending IS NULL",
                                clock_now),
                    steps, claim.attempt) == 1;
    });
    return ours;
  }

  bool finish(const Claim& claim, trial::Trial& trial) override {
    std::int64_t id = 0;
    writer_.write([&](SQLite::Database& database) {
      SQLite::Statement task(database, "SELECT attempt, trial FROM task WHERE id = ?");
      task.bind(1, claim.task);
      if (!task.executeStep() || !task.getColumn(1).isNull()) return;
      // Lost, but not yet taken by another process: the measurement counts.
      const SQLite::Column attempt = task.getColumn(0);
      if (!attempt.isNull() && attempt.getInt64() != claim.attempt) return;
      id = keep(database, claim.task, trial);
      change(database, "UPDATE task SET attempt = ? WHERE id = ?", claim.attempt, claim.task);
      end_attempt(database, claim.attempt, Attempt::Ending::finished);
    });
    if (id != 0) trial.id = id;
    return id != 0;
  }

  void give_back(const Claim& claim) override {
    writer_.write([&](SQLite::Database& database) {
      if (change(database,
                 "UPDATE task SET attempt = NULL WHERE id = ? AND attempt = ? AND trial IS NULL",
                 claim.task, claim.attempt) == 1)
        end_attempt(database, claim.attempt, Attempt::Ending::given_back);
    });
  }

  QueueCount count() override {
    QueueCount counted;
    writer_.write([&](SQLite::Database& database) {
      SQLite::Statement row(database,
                            "SELECT count(*) FILTER (WHERE trial IS NULL AND attempt IS NULL),"
                            " count(*) FILTER (WHERE trial IS NULL AND attempt IS NOT NULL),"
                            " count(trial) FROM task WHERE study = ?");
      row.bind(1, study());
      row.executeStep();
      counted = {row.getColumn(0).getInt64(), row.getColumn(1).getInt64(),
                 row.getColumn(2).getInt64()};
    });
    return counted;
  }

 private:
  std::int64_t study() const { return writer_.study().id; }

  static void end_attempt(SQLite::Database& database, std::int64_t attempt,
                          Attempt::Ending ending) {
    change(database,
           fmt::format("UPDATE attempt SET ended_at = {}, ending = ? WHERE id = ?", clock_now),
           std::string(name(ending)), attempt);
  }

  std::int64_t keep(SQLite::Database& database, std::int64_t task, const trial::Trial& trial) {
    const std::int64_t id = save_trial(database, study(), writer_.run(), trial);
    change(database, "UPDATE task SET trial = ? WHERE id = ?", id, task);
    return id;
  }

  void requeue_lost(SQLite::Database& database) {
    SQLite::Statement lost(
        database, fmt::format("SELECT task.id, attempt.id, host, pid,"
                              " (SELECT count(*) FROM attempt AS each WHERE each.task = task.id"
                              "  AND ending IS NOT 'given_back'), {}"
                              " FROM task JOIN attempt ON attempt.id = task.attempt"
                              " WHERE task.study = ? AND task.trial IS NULL AND ending IS NULL"
                              " AND beat_at + ? < {}",
                              setting_list("task"), clock_now));
    SQLite::bind(lost, study(), terms_.lost_after.count());
    while (lost.executeStep()) {
      const std::int64_t task = lost.getColumn(0).getInt64();
      const int times = lost.getColumn(4).getInt();
      end_attempt(database, lost.getColumn(1).getInt64(), Attempt::Ending::lost);
      change(database, "UPDATE task SET attempt = NULL WHERE id = ?", task);
      if (times >= terms_.most_attempts)
        keep(database, task,
             lost_trial(setting_at(lost, 5), times, lost.getColumn(2).getString(),
                        lost.getColumn(3).getInt64()));
    }
  }

  std::optional<Claim> take_next(SQLite::Database& database) {
    SQLite::Statement next(
        database, fmt::format("SELECT task.id, (SELECT count(*) FROM attempt AS each"
                              " WHERE each.task = task.id AND ending = 'lost'), {} FROM task"
                              " WHERE study = ? AND trial IS NULL AND attempt IS NULL"
                              " ORDER BY id LIMIT 1",
                              setting_list("task")));
    next.bind(1, study());
    if (!next.executeStep()) return std::nullopt;
    Claim claim{next.getColumn(0).getInt64(), 0, setting_at(next, 2),
                next.getColumn(1).getInt() + 1};
    change(database,
           fmt::format("INSERT INTO attempt (task, host, pid, started_at, beat_at)"
                       " VALUES (?, ?, ?, {0}, {0})",
                       clock_now),
           claim.task, host_name(), getpid());
    claim.attempt = database.getLastInsertRowid();
    change(database, "UPDATE task SET attempt = ? WHERE id = ?", claim.attempt, claim.task);
    return claim;
  }

  fs::path file_;
  SqliteWriter writer_;
  std::unique_ptr<SQLite::Database> heart_;  // its own connection: any thread may call beat()
  std::mutex heart_mutex_;
  QueueTerms terms_;
};

}  // namespace

std::unique_ptr<Queue> open_queue(const fs::path& file, const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms) {
  std::unique_ptr<Queue> queue;
  guarded(file,
          [&] { queue = std::make_unique<SqliteQueue>(file, study_key, environment, terms); });
  return queue;
}

std::vector<Attempt> select_attempts(SQLite::Database& database, std::int64_t study) {
  SQLite::Statement row(
      database,
      fmt::format(
          "SELECT host, pid, started_at, coalesce(ended_at, beat_at) - started_at, steps,"
          " coalesce(ending, 'running'), {} FROM attempt JOIN task ON task.id = attempt.task"
          " WHERE study = ? ORDER BY attempt.id",
          setting_list("task")));
  row.bind(1, study);
  std::vector<Attempt> attempts;
  while (row.executeStep()) {
    const auto ending = ending_named(row.getColumn(5).getString());
    if (!ending) throw Damaged{};
    attempts.push_back({setting_at(row, 6), row.getColumn(0).getString(),
                        row.getColumn(1).getInt64(), row.getColumn(2).getDouble(),
                        row.getColumn(3).getDouble(), row.getColumn(4).getInt64(), *ending});
  }
  return attempts;
}

}  // namespace sweetspot::store::sqlite
