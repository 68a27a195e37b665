#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <unistd.h>

#include <chrono>

#include "store/sqlite/errors.h"
#include "store/sqlite/rows.h"

namespace sweetspot::store::sqlite {
namespace {

using trial::StudyState;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

StudyState state_of(const std::string& text) {
  const auto state = trial::state_named(text);
  if (!state) throw Damaged{};
  return *state;
}

}  // namespace

std::int64_t insert_study(SQLite::Database& database, const trial::StudyKey& study_key) {
  SQLite::Statement insert(
      database, "INSERT INTO study (workload, question, state, started_at) VALUES (?, ?, ?, ?)");
  SQLite::bind(insert, study_key.workload, study_key.json, std::string(name(StudyState::running)),
               seconds_since_1970());
  insert.exec();
  return database.getLastInsertRowid();
}

std::int64_t insert_run(SQLite::Database& database, std::int64_t study,
                        const trial::Environment& environment) {
  SQLite::Statement insert(database,
                           "INSERT INTO run (study, program, machine, environment, pid, started_at)"
                           " VALUES (?, ?, ?, ?, ?, ?)");
  SQLite::bind(insert, study, environment.program, environment.machine, environment.json, getpid(),
               seconds_since_1970());
  insert.exec();
  return database.getLastInsertRowid();
}

void update_state(SQLite::Database& database, std::int64_t study, StudyState state) {
  SQLite::Statement update(database,
                           "UPDATE study SET state = ?, running_batch = NULL WHERE id = ?");
  SQLite::bind(update, std::string(name(state)), study);
  update.exec();
}

void update_running(SQLite::Database& database, std::int64_t study,
                    std::optional<std::int64_t> batch) {
  SQLite::Statement update(database,
                           "UPDATE study SET running_batch = ?, running_since = ? WHERE id = ?");
  if (batch) update.bind(1, *batch);
  update.bind(2, seconds_since_1970());
  update.bind(3, study);
  update.exec();
}

void update_answer(SQLite::Database& database, std::int64_t study, const std::string& answer) {
  SQLite::Statement update(database, "UPDATE study SET answer = ? WHERE id = ?");
  SQLite::bind(update, answer, study);
  update.exec();
}

std::vector<trial::Study> select_studies(SQLite::Database& database,
                                         std::optional<std::int64_t> id) {
  SQLite::Statement row(database, R"sql(
      SELECT study.id, workload, question, state, study.started_at, program, machine, environment,
        answer, running_batch, running_since
      FROM study JOIN run ON run.id = (SELECT max(id) FROM run WHERE run.study = study.id)
      WHERE study.id = ?1 OR ?1 IS NULL ORDER BY study.id DESC)sql");
  if (id) row.bind(1, *id);
  std::vector<trial::Study> studies;
  while (row.executeStep()) {
    trial::Study& study = studies.emplace_back();
    study.id = row.getColumn(0).getInt64();
    study.study_key = {row.getColumn(1).getString(), row.getColumn(2).getString()};
    study.state = state_of(row.getColumn(3).getString());
    study.started_at = row.getColumn(4).getDouble();
    study.environment = {row.getColumn(5).getString(), row.getColumn(6).getString(),
                         row.getColumn(7).getString()};
    study.answer = row.getColumn(8).getString();
    if (study.state == StudyState::running && !row.getColumn(9).isNull())
      study.running = {row.getColumn(9).getInt64(), row.getColumn(10).getDouble()};
  }
  return studies;
}

std::int64_t find_study(SQLite::Database& database, const std::string& key) {
  SQLite::Statement row(database, "SELECT max(id) FROM study WHERE question = ?");
  row.bind(1, key);
  row.executeStep();
  return row.getColumn(0).getInt64();
}

std::optional<std::int64_t> study_of(SQLite::Database& database, std::int64_t trial) {
  SQLite::Statement row(database, "SELECT study FROM trial WHERE id = ?");
  row.bind(1, trial);
  if (!row.executeStep()) return std::nullopt;
  return row.getColumn(0).getInt64();
}

std::optional<std::int64_t> last_pid(SQLite::Database& database, std::int64_t study) {
  SQLite::Statement row(database, "SELECT pid FROM run WHERE study = ? ORDER BY id DESC LIMIT 1");
  row.bind(1, study);
  if (!row.executeStep() || row.getColumn(0).isNull()) return std::nullopt;
  return row.getColumn(0).getInt64();
}

bool delete_study(SQLite::Database& database, std::int64_t study) {
  SQLite::Statement remove(database, "DELETE FROM study WHERE id = ?");
  remove.bind(1, study);
  return remove.exec() > 0;
}

}  // namespace sweetspot::store::sqlite
