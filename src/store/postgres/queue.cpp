#include "store/postgres/queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>

#include "core/error.h"
#include "store/postgres/connection.h"
#include "store/postgres/rows.h"
#include "store/postgres/writer.h"
#include "store/store.h"
#include "store/trial_fields.h"

namespace sweetspot::store::postgres {
namespace {

constexpr const char* clock_now = "extract(epoch FROM clock_timestamp())";

std::string setting_list(std::string_view table) {
  std::string list;
  for (const std::string& column : setting_columns())
    list += fmt::format("{}{}.{}", list.empty() ? "" : ", ", table, column);
  return list;
}

// Settings of every task, done or not, and of trials without one.
std::vector<trial::Setting> settings_there(Connection& connection, std::int64_t study) {
  std::vector<trial::Setting> settings;
  for (const std::string& sql :
       {fmt::format("SELECT {} FROM task WHERE study = $1", setting_list("task")),
        fmt::format("SELECT {} FROM trial WHERE study = $1"
                    " AND NOT EXISTS (SELECT FROM task WHERE task.trial = trial.id)",
                    setting_list("trial"))}) {
    const Result rows = connection.run(sql, {study});
    for (std::size_t row = 0; row < rows.rows(); ++row)
      settings.push_back(setting_at(rows, row, 0));
  }
  return settings;
}

void insert_task(Connection& connection, std::int64_t study, const trial::Setting& setting) {
  static const std::string sql = [] {
    std::string names, numbers;
    for (std::size_t i = 0; i < setting_columns().size(); ++i) {
      names += ", " + setting_columns()[i];
      numbers += fmt::format(", ${}", i + 2);
    }
    return fmt::format("INSERT INTO task (study{}) VALUES ($1{})", names, numbers);
  }();
  Values values{study};
  add_setting(values, setting);
  connection.run(sql, values);
}

class PostgresQueue : public Queue {
 public:
  PostgresQueue(const std::string& url, const trial::StudyKey& study_key,
                const trial::Environment& environment, const QueueTerms& terms)
      : writer_(url, study_key, environment, false, Share::with_others),
        heart_(url),
        terms_(terms) {}

  Writer& writer() override { return writer_; }

  void plan(std::span<const trial::Setting> settings) override {
    writer_.session().transact([&](Connection& connection) {
      // Concurrent joiners plan one after the other.
      connection.run("SELECT FROM study WHERE id = $1 FOR UPDATE", {study()});
      for (const trial::Setting& setting : missing(settings, settings_there(connection, study())))
        insert_task(connection, study(), setting);
    });
  }

  std::optional<Claim> claim() override {
    std::optional<Claim> claimed;
    writer_.session().transact([&](Connection& connection) {
      claimed = unacknowledged(connection);
      if (claimed) return;
      requeue_lost(connection);
      claimed = take_next(connection);
    });
    return claimed;
  }

  bool beat(const Claim& claim, std::int64_t steps) override {
    const std::lock_guard lock(heart_mutex_);
    bool ours = false;
    heart_.transact([&](Connection& connection) {
      ours = connection
                 .run(fmt::format("UPDATE attempt SET beat_at = {}, steps = $1"
                                  " WHERE id = $2 AND ending IS NULL",
                                  clock_now),
                      {steps, claim.attempt})
                 .changed() == 1;
    });
    return ours;
  }

  bool finish(const Claim& claim, trial::Trial& trial) override {
    std::int64_t id = 0;
    writer_.session().transact([&](Connection& connection) {
      id = 0;
      const Result task =
          connection.run("SELECT attempt, trial FROM task WHERE id = $1 FOR UPDATE", {claim.task});
      if (task.rows() == 0) return;  // its study was deleted
      const bool waits = task.at(0, 0).is_null(), is_done = !task.at(0, 1).is_null();
      const bool ours = !waits && task.at(0, 0).whole() == claim.attempt;
      if (ours && is_done) {
        id = task.at(0, 1).whole();  // committed, but not acknowledged
        return;
      }
      // Lost, but not yet taken by another process: the measurement counts.
      if (is_done || (!ours && !waits)) return;
      id = keep(connection, claim.task, trial);
      connection.run("UPDATE task SET attempt = $1 WHERE id = $2", {claim.attempt, claim.task});
      end_attempt(connection, claim.attempt, Attempt::Ending::finished);
    });
    if (id != 0) trial.id = id;
    return id != 0;
  }

  void give_back(const Claim& claim) override {
    writer_.session().transact([&](Connection& connection) {
      if (connection
              .run(
                  "UPDATE task SET attempt = NULL WHERE id = $1 AND attempt = $2 AND trial IS NULL",
                  {claim.task, claim.attempt})
              .changed() == 1)
        end_attempt(connection, claim.attempt, Attempt::Ending::given_back);
    });
  }

  QueueCount count() override {
    QueueCount counted;
    writer_.session().transact([&](Connection& connection) {
      const Result row = connection.run(
          "SELECT count(*) FILTER (WHERE trial IS NULL AND attempt IS NULL),"
          " count(*) FILTER (WHERE trial IS NULL AND attempt IS NOT NULL), count(trial)"
          " FROM task WHERE study = $1",
          {study()});
      counted = {row.at(0, 0).whole(), row.at(0, 1).whole(), row.at(0, 2).whole()};
    });
    return counted;
  }

 private:
  std::int64_t study() const { return writer_.study().id; }

  static void end_attempt(Connection& connection, std::int64_t attempt, Attempt::Ending ending) {
    connection.run(
        fmt::format("UPDATE attempt SET ended_at = {}, ending = $1 WHERE id = $2", clock_now),
        {name(ending), attempt});
  }

  std::int64_t keep(Connection& connection, std::int64_t task, const trial::Trial& trial) {
    const std::int64_t id = save_trial(connection, study(), writer_.run(), new_token(), trial);
    connection.run("UPDATE task SET trial = $1 WHERE id = $2", {id, task});
    count_change(connection, study());
    return id;
  }

  // Already ours: the server went away between its commit and its answer.
  std::optional<Claim> unacknowledged(Connection& connection) {
    const Result row = connection.run(
        fmt::format("SELECT task.id, attempt.id, (SELECT count(*) FROM attempt AS each"
                    " WHERE each.task = task.id AND ending IS DISTINCT FROM 'given_back'), {}"
                    " FROM task JOIN attempt ON attempt.id = task.attempt"
                    " WHERE task.study = $1 AND worker = $2 AND ending IS NULL LIMIT 1",
                    setting_list("task")),
        {study(), worker_});
    if (row.rows() == 0) return std::nullopt;
    return Claim{row.at(0, 0).whole(), row.at(0, 1).whole(), setting_at(row, 0, 3),
                 static_cast<int>(row.at(0, 2).whole())};
  }

  // No heartbeat is possible while the server is down: the time counts from its start at the
  // earliest.
  void requeue_lost(Connection& connection) {
    const Result lost = connection.run(
        fmt::format("SELECT task.id, attempt.id, host, pid,"
                    " (SELECT count(*) FROM attempt AS each WHERE each.task = task.id"
                    "  AND ending IS DISTINCT FROM 'given_back'), {}"
                    " FROM task JOIN attempt ON attempt.id = task.attempt"
                    " WHERE task.study = $1 AND task.trial IS NULL AND ending IS NULL"
                    " AND greatest(beat_at, extract(epoch FROM pg_postmaster_start_time())) + $2"
                    " < {} FOR UPDATE OF task, attempt SKIP LOCKED",
                    setting_list("task"), clock_now),
        {study(), terms_.lost_after.count()});
    for (std::size_t row = 0; row < lost.rows(); ++row) {
      const std::int64_t task = lost.at(row, 0).whole();
      const int times = static_cast<int>(lost.at(row, 4).whole());
      end_attempt(connection, lost.at(row, 1).whole(), Attempt::Ending::lost);
      connection.run("UPDATE task SET attempt = NULL WHERE id = $1", {task});
      if (times >= terms_.most_attempts)
        keep(connection, task,
             lost_trial(setting_at(lost, row, 5), times, lost.at(row, 2).text(),
                        lost.at(row, 3).whole()));
    }
  }

  std::optional<Claim> take_next(Connection& connection) {
    const Result next =
        connection.run(fmt::format("SELECT task.id, (SELECT count(*) FROM attempt AS each"
                                   " WHERE each.task = task.id AND ending = 'lost'), {} FROM task"
                                   " WHERE study = $1 AND trial IS NULL AND attempt IS NULL"
                                   " ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
                                   setting_list("task")),
                       {study()});
    if (next.rows() == 0) return std::nullopt;
    const std::int64_t task = next.at(0, 0).whole();
    const std::int64_t attempt =
        connection
            .run(fmt::format("INSERT INTO attempt (task, worker, host, pid, started_at, beat_at)"
                             " VALUES ($1, $2, $3, $4, {0}, {0}) RETURNING id",
                             clock_now),
                 {task, worker_, host_name(), getpid()})
            .at(0, 0)
            .whole();
    connection.run("UPDATE task SET attempt = $1 WHERE id = $2", {attempt, task});
    return Claim{task, attempt, setting_at(next, 0, 2),
                 static_cast<int>(next.at(0, 1).whole()) + 1};
  }

  PostgresWriter writer_;
  Session heart_;  // its own connection: any thread may call beat()
  std::mutex heart_mutex_;
  QueueTerms terms_;
  std::string worker_ = new_token();
};

}  // namespace

std::unique_ptr<Queue> open_queue(const std::string& url, const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms) {
  return std::make_unique<PostgresQueue>(url, study_key, environment, terms);
}

std::vector<Attempt> select_attempts(Connection& connection, std::int64_t study) {
  const Result rows = connection.run(
      fmt::format(
          "SELECT host, pid, started_at, coalesce(ended_at, beat_at) - started_at, steps,"
          " coalesce(ending, 'running'), {} FROM attempt JOIN task ON task.id = attempt.task"
          " WHERE study = $1 ORDER BY attempt.id",
          setting_list("task")),
      {study});
  std::vector<Attempt> attempts(rows.rows());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const auto ending = ending_named(rows.at(row, 5).text());
    if (!ending) throw Damaged{};
    attempts[row] = {setting_at(rows, row, 6),
                     rows.at(row, 0).text(),
                     rows.at(row, 1).whole(),
                     rows.at(row, 2).real(),
                     rows.at(row, 3).real(),
                     rows.at(row, 4).whole(),
                     *ending};
  }
  return attempts;
}

}  // namespace sweetspot::store::postgres
