#include "store/study_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "core/error.h"

namespace sweetspot::store {
namespace {

using trial::End;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

// The newest with this study key; 0 if there is none.
std::int64_t find_study(Connection& connection, const std::string& key) {
  return connection.run("SELECT coalesce(max(id), 0) FROM study WHERE study_key = $1", {key})[0][0]
      .whole();
}

std::int64_t insert_study(Connection& connection, const trial::StudyKey& study_key) {
  return connection
      .run(fmt::format("INSERT INTO study (workload, study_key, state, started_at)"
                       " VALUES ($1, $2, $3, {}) RETURNING id",
                       connection.dialect.now),
           {study_key.workload, study_key.json, name(End::running)})[0][0]
      .whole();
}

std::int64_t insert_run(Connection& connection, std::int64_t study,
                        const trial::Environment& environment) {
  return connection
      .run(fmt::format("INSERT INTO run (study, program, machine, environment, host, pid,"
                       " started_at) VALUES ($1, $2, $3, $4, $5, $6, {}) RETURNING id",
                       connection.dialect.now),
           {study, environment.program, environment.machine, environment.json, host_name(),
            getpid()})[0][0]
      .whole();
}

void update_end(Connection& connection, std::int64_t study, End end) {
  connection.run("UPDATE study SET state = $1, running_batch = NULL WHERE id = $2",
                 {name(end), study});
}

// " (pid 4211)", " (pid 4211 on node7)": the process that last opened this study for writing.
std::string last_writer(Connection& connection, std::int64_t study) {
  const Rows rows = connection.run(
      "SELECT pid, host FROM run WHERE study = $1 ORDER BY id DESC LIMIT 1", {study});
  if (rows.empty()) return "";
  const std::string& host = rows[0][1].text();
  return fmt::format(" (pid {}{})", rows[0][0].whole(), host == host_name() ? "" : " on " + host);
}

}  // namespace

void fail_locked(const Database& database, Connection& connection, std::int64_t study) {
  throw core::MachineError(
      fmt::format("study {} in {} is being written by another run{}; wait for it, or pass {}",
                  study, database.shown(), last_writer(connection, study), database.another()));
}

StudyWriter::StudyWriter(const Database& database, const trial::StudyKey& study_key,
                         const trial::Environment& environment, bool fresh, Share share)
    : session_(database.open_session()) {
  session_->transact([&](Connection& connection) {
    std::int64_t id = fresh ? 0 : find_study(connection, study_key.json);
    if (id == 0) {
      connection.run(std::string(connection.dialect.take_turns));  // one of several creates it
      if (!fresh) id = find_study(connection, study_key.json);
      if (id == 0) id = insert_study(connection, study_key);
    }
    if (!session_->lock(connection, id, share)) fail_locked(database, connection, id);
    update_end(connection, id, End::running);
    run_ = insert_run(connection, id, environment);
    study_ = std::move(select_studies(connection, id).at(0));
    for (trial::Trial& trial : study_.trials) read_steps_and_trace(connection, trial);
  });
}

void StudyWriter::save(std::span<trial::Trial> trials) {
  std::vector<Saving> savings;
  for (std::size_t i = 0; i < trials.size(); ++i) savings.push_back(saving());
  Ids ids;  // assigned once all are saved: a failure leaves all unchanged
  session_->transact([&](Connection& connection) {
    ids.clear();
    for (std::size_t i = 0; i < trials.size(); ++i)
      ids.push_back(save_trial(connection, savings[i], trials[i]));
    update_running(connection, study_.id);
  });
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].id = ids[i];
}

void StudyWriter::amend(const trial::Trial& trial) {
  const Saving amended = saving();
  session_->transact([&](Connection& connection) {
    amend_trial(connection, amended, trial);
    update_running(connection, study_.id);
  });
}

void StudyWriter::set_answer(const std::string& answer) {
  session_->transact([&](Connection& connection) {
    connection.run("UPDATE study SET answer = $1 WHERE id = $2", {answer, study_.id});
  });
  study_.answer = answer;
}

void StudyWriter::set_end(End end) {
  session_->transact([&](Connection& connection) { update_end(connection, study_.id, end); });
  study_.end = end;
}

void StudyWriter::set_running(std::int64_t batch) {
  session_->transact([&](Connection& connection) { update_running(connection, study_.id, batch); });
}

}  // namespace sweetspot::store
