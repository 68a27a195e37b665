#include "store/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/step_blob.h"
#include "store/trial_json.h"

namespace sweetspot::store {
namespace {

using trial::End;

template <class T>
T intact(std::optional<T> value) {
  if (!value) throw Damaged{};
  return std::move(*value);
}

trial::Trial trial_at(const Value& id, const Value& body) {
  trial::Trial trial = intact(trial_of(body.text()));
  trial.id = id.whole();
  return trial;
}

// From the first two columns.
void unpack(const Values& row, trial::Trial& trial) {
  trial.raw = intact(unpack_steps(row[0].bytes()));
  trial.trace = intact(unpack_trace(row[1].bytes()));
}

End end_at(const Value& name) { return intact(trial::end_named(name.text())); }

trial::Study study_at(const Values& row) {
  trial::Study study;
  study.id = row[0].whole();
  study.study_key = {row[1].text(), row[2].text()};
  study.end = end_at(row[3]);
  study.started_at = row[4].real();
  study.environment = {row[5].text(), row[6].text(), row[7].text()};
  study.answer = row[8].text();
  if (study.end == End::running && !row[9].is_null())
    study.running = {row[9].whole(), row[10].real()};
  return study;
}

}  // namespace

void update_running(Connection& connection, std::int64_t study, std::optional<std::int64_t> batch) {
  connection.run(
      fmt::format("UPDATE study SET running_batch = $1, running_since = {} WHERE id = $2",
                  connection.dialect.now),
      {batch, study});
}

std::vector<trial::Study> select_studies(Connection& connection, std::optional<std::int64_t> id) {
  const Values one = id ? Values{*id} : Values{};
  std::vector<trial::Study> studies;
  for (const Values& row : connection.run(
           fmt::format("SELECT study.id, workload, study_key, state, study.started_at, program,"
                       " machine, environment, answer, running_batch, running_since"
                       " FROM study JOIN run ON run.id ="
                       " (SELECT max(id) FROM run WHERE run.study = study.id){}"
                       " ORDER BY study.id DESC",
                       id ? " WHERE study.id = $1" : ""),
           one))
    studies.push_back(study_at(row));
  for (const Values& row :
       connection.run(fmt::format("SELECT study, id, body FROM trial{} ORDER BY id",
                                  id ? " WHERE study = $1" : ""),
                      one)) {
    const auto study = std::ranges::lower_bound(studies, row[0].whole(), std::ranges::greater(),
                                                &trial::Study::id);
    if (study == studies.end() || study->id != row[0].whole()) throw Damaged{};
    study->trials.push_back(trial_at(row[1], row[2]));
  }
  return studies;
}

Ids select_running(Connection& connection) {
  Ids running;
  for (const Values& row :
       connection.run("SELECT id FROM study WHERE state = $1", {name(End::running)}))
    running.push_back(row[0].whole());
  return running;
}

End select_end(Connection& connection, std::int64_t study) {
  const Rows rows = connection.run("SELECT state FROM study WHERE id = $1", {study});
  return rows.empty() ? End::stopped : end_at(rows[0][0]);
}

namespace {

void insert_raw(Connection& connection, const trial::Trial& trial, std::int64_t id) {
  connection.run("INSERT INTO raw (trial, steps, trace) VALUES ($1, $2, $3)",
                 {id, Blob{pack(trial.raw)}, Blob{pack(trial.trace)}});
}

}  // namespace

std::int64_t save_trial(Connection& connection, const Saving& saving, const trial::Trial& trial) {
  if (trial.id != 0) {
    amend_trial(connection, saving, trial);
    connection.run("DELETE FROM raw WHERE trial = $1", {trial.id});
    insert_raw(connection, trial, trial.id);
    return trial.id;
  }
  const Rows inserted = connection.run(
      "INSERT INTO trial (study, run, number, batch, outcome, body)"
      " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (study, run, number) DO NOTHING RETURNING id",
      {saving.study, saving.run, saving.number, trial.setting.batch, name(trial.outcome),
       json_of(trial)});
  if (inserted.empty())
    return connection
        .run("SELECT id FROM trial WHERE study = $1 AND run = $2 AND number = $3",
             {saving.study, saving.run, saving.number})[0][0]
        .whole();
  insert_raw(connection, trial, inserted[0][0].whole());
  return inserted[0][0].whole();
}

void amend_trial(Connection& connection, const Saving& saving, const trial::Trial& trial) {
  const Rows updated = connection.run(
      "UPDATE trial SET run = $3, number = $4, batch = $5, outcome = $6, body = $7"
      " WHERE study = $1 AND id = $2 RETURNING id",
      {saving.study, trial.id, saving.run, saving.number, trial.setting.batch, name(trial.outcome),
       json_of(trial)});
  if (updated.empty()) throw Damaged{};  // the row has disappeared
}

std::optional<trial::Trial> select_trial(Connection& connection, std::int64_t id) {
  const Rows rows = connection.run(
      "SELECT steps, trace, id, body FROM trial JOIN raw ON trial = id WHERE id = $1", {id});
  if (rows.empty()) return std::nullopt;
  trial::Trial trial = trial_at(rows[0][2], rows[0][3]);
  unpack(rows[0], trial);
  return trial;
}

void read_steps_and_trace(Connection& connection, trial::Trial& trial) {
  const Rows rows = connection.run("SELECT steps, trace FROM raw WHERE trial = $1", {trial.id});
  if (rows.empty()) throw Damaged{};
  unpack(rows[0], trial);
}

}  // namespace sweetspot::store
