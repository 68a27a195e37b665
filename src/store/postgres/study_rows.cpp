#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "store/postgres/connection.h"
#include "store/postgres/rows.h"
#include "store/postgres/session.h"

namespace sweetspot::store::postgres {
namespace {

constexpr const char* seconds_now = "extract(epoch FROM clock_timestamp())";

trial::StudyState state_of(const Cell& cell) {
  const auto state = trial::state_named(cell.text());
  if (!state) throw Damaged{};
  return *state;
}

}  // namespace

std::int64_t insert_study(Connection& connection, const trial::StudyKey& study_key) {
  return connection
      .run(fmt::format("INSERT INTO study (workload, question, state, started_at)"
                       " VALUES ($1, $2, $3, {}) RETURNING id",
                       seconds_now),
           {study_key.workload, study_key.json, name(trial::StudyState::running)})
      .at(0, 0)
      .whole();
}

std::int64_t insert_run(Connection& connection, std::int64_t study,
                        const trial::Environment& environment) {
  return connection
      .run(fmt::format("INSERT INTO run (study, program, machine, environment, host, pid,"
                       " started_at) VALUES ($1, $2, $3, $4, $5, $6, {}) RETURNING id",
                       seconds_now),
           {study, environment.program, environment.machine, environment.json, host_name(),
            getpid()})
      .at(0, 0)
      .whole();
}

void update_state(Connection& connection, std::int64_t study, trial::StudyState state) {
  connection.run(
      "UPDATE study SET state = $1, running_batch = NULL, changes = changes + 1 WHERE id = $2",
      {name(state), study});
}

void update_running(Connection& connection, std::int64_t study, std::optional<std::int64_t> batch) {
  connection.run(
      "UPDATE study SET running_batch = $1, running_since = extract(epoch FROM clock_timestamp()),"
      " changes = changes + 1 WHERE id = $2",
      {batch, study});
}

void update_answer(Connection& connection, std::int64_t study, const std::string& answer) {
  connection.run("UPDATE study SET answer = $1, changes = changes + 1 WHERE id = $2",
                 {answer, study});
}

void count_change(Connection& connection, std::int64_t study) {
  connection.run("UPDATE study SET changes = changes + 1 WHERE id = $1", {study});
}

std::vector<trial::Study> select_studies(Connection& connection, std::optional<std::int64_t> id) {
  const Result rows = connection.run(
      fmt::format(
          "SELECT study.id, workload, question,"
          " CASE WHEN state = 'running' AND NOT {} THEN 'stopped' ELSE state END,"
          " study.started_at, program, machine, environment, answer, running_batch, running_since"
          " FROM study JOIN run ON run.id ="
          " (SELECT max(id) FROM run WHERE run.study = study.id)"
          " WHERE study.id = $1 OR $1::bigint IS NULL ORDER BY study.id DESC",
          is_locked_sql()),
      {id});
  std::vector<trial::Study> studies(rows.rows());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    trial::Study& study = studies[row];
    study.id = rows.at(row, 0).whole();
    study.study_key = {rows.at(row, 1).text(), rows.at(row, 2).text()};
    study.state = state_of(rows.at(row, 3));
    study.started_at = rows.at(row, 4).real();
    study.environment = {rows.at(row, 5).text(), rows.at(row, 6).text(), rows.at(row, 7).text()};
    study.answer = rows.at(row, 8).text();
    if (study.state == trial::StudyState::running && !rows.at(row, 9).is_null())
      study.running = {rows.at(row, 9).whole(), rows.at(row, 10).real()};
  }
  return studies;
}

std::int64_t find_study(Connection& connection, const std::string& key) {
  return connection.run("SELECT coalesce(max(id), 0) FROM study WHERE question = $1", {key})
      .at(0, 0)
      .whole();
}

std::string last_writer(Connection& connection, std::int64_t study) {
  const Result row = connection.run(
      "SELECT pid, host FROM run WHERE study = $1 ORDER BY id DESC LIMIT 1", {study});
  if (row.rows() == 0) return "of which nothing is known";
  return fmt::format("pid {} on {}", row.at(0, 0).text(), row.at(0, 1).text());
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::string array_of(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

}  // namespace sweetspot::store::postgres
