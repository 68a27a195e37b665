#include "store/study_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "store/rows.h"
#include "store/study_writer.h"
#include "store/trial_json.h"

namespace sweetspot::store {
namespace {

using Ending = Attempt::Ending;

constexpr std::array<std::string_view, 4> endings{"running", "finished", "lost", "given_back"};

std::string_view name(Ending ending) { return endings[static_cast<std::size_t>(ending)]; }

Ending ending_at(const Value& name) {
  const auto found = std::ranges::find(endings, name.text());
  if (found == endings.end()) throw Damaged{};
  return static_cast<Ending>(found - endings.begin());
}

// The trial of a setting whose processes were lost this many times, the last of them this one.
trial::Trial lost_trial(const trial::Setting& setting, int times, const std::string& host,
                        std::int64_t pid) {
  trial::Trial trial;
  trial.setting = setting;
  trial.outcome = trial::Outcome::killed;
  trial.note = fmt::format("its process was lost {}, the last on {} (pid {})",
                           times == 1 ? "once" : fmt::format("{} times", times), host, pid);
  return trial;
}

trial::Setting setting_at(const Value& json) {
  const auto setting = setting_of(json.text());
  if (!setting) throw Damaged{};
  return *setting;
}

// Settings of every task, done or not, and of trials without one.
std::vector<trial::Setting> settings_there(Connection& connection, std::int64_t study) {
  std::vector<trial::Setting> settings;
  for (const Values& row : connection.run("SELECT setting FROM task WHERE study = $1", {study}))
    settings.push_back(setting_at(row[0]));
  for (const Values& row :
       connection.run("SELECT body FROM trial WHERE study = $1"
                      " AND NOT EXISTS (SELECT 1 FROM task WHERE task.trial = trial.id)",
                      {study}))
    if (const auto trial = trial_of(row[0].text())) settings.push_back(trial->setting);
  return settings;
}

// Attempts at a task so far, in SQL; for one that waits, all of them were lost.
constexpr const char* times_taken =
    "(SELECT count(*) FROM attempt AS each"
    " WHERE each.task = task.id AND coalesce(each.ending, '') <> 'given_back')";

void end_attempt(Connection& connection, std::int64_t attempt, Ending ending) {
  connection.run(fmt::format("UPDATE attempt SET ended_at = {}, ending = $1 WHERE id = $2",
                             connection.dialect.now),
                 {name(ending), attempt});
}

class StudyQueue : public Queue {
 public:
  StudyQueue(const Database& database, const trial::StudyKey& study_key,
             const trial::Environment& environment, const QueueTerms& terms)
      : writer_(database, study_key, environment, false, Share::with_others),
        heart_(database.open_session()),
        terms_(terms) {}

  Writer& writer() override { return writer_; }

  void plan(std::span<const trial::Setting> settings) override {
    transact([&](Connection& connection) {
      update_running(connection, study());  // concurrent joiners plan one after the other
      for (const trial::Setting& setting : missing(settings, settings_there(connection, study())))
        connection.run("INSERT INTO task (study, setting) VALUES ($1, $2)",
                       {study(), json_of(setting)});
    });
  }

  std::optional<Claim> claim() override {
    std::optional<Claim> claimed;
    transact([&](Connection& connection) {
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
    heart_->transact([&](Connection& connection) {
      ours = !connection
                  .run(fmt::format("UPDATE attempt SET beat_at = {}, steps = $1"
                                   " WHERE id = $2 AND ending IS NULL RETURNING id",
                                   connection.dialect.now),
                       {steps, claim.attempt})
                  .empty();
    });
    return ours;
  }

  bool finish(const Claim& claim, trial::Trial& trial) override {
    const Saving saving = writer_.saving();
    std::int64_t id = 0;
    transact([&](Connection& connection) {
      id = 0;
      // Others wait for the end of the transaction.
      const Rows task = connection.run(
          "UPDATE task SET attempt = attempt WHERE id = $1 RETURNING attempt, trial", {claim.task});
      if (task.empty()) return;  // its study was deleted
      const Value &attempt = task[0][0], &done = task[0][1];
      const bool ours = !attempt.is_null() && attempt.whole() == claim.attempt;
      if (ours && !done.is_null()) {
        id = done.whole();  // committed, but not acknowledged
        return;
      }
      // Lost, but not yet taken by another process: the measurement counts.
      if (!done.is_null() || !(ours || attempt.is_null())) return;
      id = keep(connection, claim.task, saving, trial);
      connection.run("UPDATE task SET attempt = $1 WHERE id = $2", {claim.attempt, claim.task});
      end_attempt(connection, claim.attempt, Ending::finished);
    });
    if (id != 0) trial.id = id;
    return id != 0;
  }

  void give_back(const Claim& claim) override {
    transact([&](Connection& connection) {
      const Rows given = connection.run(
          "UPDATE task SET attempt = NULL WHERE id = $1 AND attempt = $2 AND trial IS NULL"
          " RETURNING id",
          {claim.task, claim.attempt});
      if (!given.empty()) end_attempt(connection, claim.attempt, Ending::given_back);
    });
  }

  QueueCount count() override {
    QueueCount counted;
    transact([&](Connection& connection) {
      const Values row = connection.run(
          "SELECT count(*) FILTER (WHERE trial IS NULL AND attempt IS NULL),"
          " count(*) FILTER (WHERE trial IS NULL AND attempt IS NOT NULL), count(trial)"
          " FROM task WHERE study = $1",
          {study()})[0];
      counted = {row[0].whole(), row[1].whole(), row[2].whole()};
    });
    return counted;
  }

 private:
  std::int64_t study() const { return writer_.study().id; }
  void transact(const std::function<void(Connection&)>& work) { writer_.session().transact(work); }

  std::int64_t keep(Connection& connection, std::int64_t task, const Saving& saving,
                    const trial::Trial& trial) {
    const std::int64_t id = save_trial(connection, saving, trial);
    connection.run("UPDATE task SET trial = $1 WHERE id = $2", {id, task});
    update_running(connection, study());
    return id;
  }

  // Already ours: the server went away between its commit and its answer.
  std::optional<Claim> unacknowledged(Connection& connection) {
    const Rows rows =
        connection.run(fmt::format("SELECT task.id, setting, {}, attempt.id"
                                   " FROM task JOIN attempt ON attempt.id = task.attempt"
                                   " WHERE task.study = $1 AND run = $2 AND ending IS NULL LIMIT 1",
                                   times_taken),
                       {study(), writer_.run()});
    if (rows.empty()) return std::nullopt;
    const Values& row = rows[0];
    return Claim{row[0].whole(), row[3].whole(), setting_at(row[1]),
                 static_cast<int>(row[2].whole())};
  }

  // No heartbeat is possible while the server is down: the time counts from its start at the
  // earliest.
  void requeue_lost(Connection& connection) {
    const Rows lost = connection.run(
        fmt::format("SELECT task.id, setting, {0}, attempt.id,"
                    " (SELECT host FROM run WHERE run.id = attempt.run),"
                    " (SELECT pid FROM run WHERE run.id = attempt.run)"
                    " FROM task JOIN attempt ON attempt.id = task.attempt"
                    " WHERE task.study = $1 AND task.trial IS NULL AND ending IS NULL"
                    " AND beat_at + $2 < {1} AND {2} + $2 < {1} {3}",
                    times_taken, connection.dialect.now, connection.dialect.up_since,
                    connection.dialect.skip_locked),
        {study(), terms_.lost_after.count()});
    for (const Values& row : lost) {
      const std::int64_t task = row[0].whole();
      end_attempt(connection, row[3].whole(), Ending::lost);
      connection.run("UPDATE task SET attempt = NULL WHERE id = $1", {task});
      if (const int times = static_cast<int>(row[2].whole()); times >= terms_.most_attempts)
        keep(connection, task, writer_.saving(),
             lost_trial(setting_at(row[1]), times, row[4].text(), row[5].whole()));
    }
  }

  std::optional<Claim> take_next(Connection& connection) {
    const Rows next =
        connection.run(fmt::format("SELECT task.id, setting, {} FROM task"
                                   " WHERE study = $1 AND trial IS NULL AND attempt IS NULL"
                                   " ORDER BY id LIMIT 1 {}",
                                   times_taken, connection.dialect.skip_locked),
                       {study()});
    if (next.empty()) return std::nullopt;
    const std::int64_t task = next[0][0].whole();
    const std::int64_t attempt =
        connection
            .run(fmt::format("INSERT INTO attempt (task, run, started_at, beat_at)"
                             " VALUES ($1, $2, {0}, {0}) RETURNING id",
                             connection.dialect.now),
                 {task, writer_.run()})[0][0]
            .whole();
    connection.run("UPDATE task SET attempt = $1 WHERE id = $2", {attempt, task});
    return Claim{task, attempt, setting_at(next[0][1]), static_cast<int>(next[0][2].whole()) + 1};
  }

  StudyWriter writer_;
  std::unique_ptr<Session> heart_;  // its own connection: any thread may call beat()
  std::mutex heart_mutex_;
  QueueTerms terms_;
};

}  // namespace

std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has) {
  std::vector<trial::Setting> left(has.begin(), has.end()), found;
  for (const trial::Setting& setting : wanted) {
    const auto there = std::ranges::find(left, setting);
    if (there == left.end())
      found.push_back(setting);
    else
      left.erase(there);
  }
  return found;
}

std::unique_ptr<Queue> open_queue(const Database& database, const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms) {
  return std::make_unique<StudyQueue>(database, study_key, environment, terms);
}

std::vector<Attempt> select_attempts(Connection& connection, std::int64_t study) {
  std::vector<Attempt> attempts;
  for (const Values& row : connection.run(
           "SELECT setting, host, pid, attempt.started_at,"
           " coalesce(ended_at, beat_at) - attempt.started_at, steps, coalesce(ending, 'running')"
           " FROM attempt JOIN task ON task.id = attempt.task JOIN run ON run.id = attempt.run"
           " WHERE task.study = $1 ORDER BY attempt.id",
           {study})) {
    attempts.push_back({setting_at(row[0]), row[1].text(), row[2].whole(), row[3].real(),
                        row[4].real(), row[5].whole(), ending_at(row[6])});
  }
  return attempts;
}

}  // namespace sweetspot::store
