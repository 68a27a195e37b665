#include "store/postgres/writer.h"

#include <fmt/format.h>

#include <random>

#include "core/error.h"
#include "core/text.h"
#include "store/postgres/rows.h"

namespace sweetspot::store::postgres {

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

void fail_locked(Connection& connection, const std::string& url, std::int64_t study) {
  throw core::MachineError(
      fmt::format("study {} in {} is being written by another run ({}); wait for it, or pass "
                  "another --db",
                  study, core::printable(url), last_writer(connection, study)));
}

PostgresWriter::PostgresWriter(const std::string& url, const trial::StudyKey& study_key,
                               const trial::Environment& environment, bool fresh, Share share)
    : session_(url) {
  session_.transact([&](Connection& connection) {
    std::int64_t id = fresh ? 0 : find_study(connection, study_key.json);
    if (id == 0) {
      lock_setup(connection);  // of several concurrent ones, one creates the study
      if (!fresh) id = find_study(connection, study_key.json);
      if (id == 0) id = insert_study(connection, study_key);
    }
    if (!session_.lock(connection, id, share)) fail_locked(connection, url, id);
    update_state(connection, id, trial::StudyState::running);
    run_ = insert_run(connection, id, environment);
    auto found = select_studies(connection, id);
    read_trials(connection, found);
    study_ = std::move(found.at(0));
    for (trial::Trial& trial : study_.trials) read_steps_and_trace(connection, trial);
  });
}

void PostgresWriter::save(std::span<trial::Trial> trials) {
  std::vector<std::string> tokens(trials.size());
  for (std::string& token : tokens) token = new_token();
  std::vector<std::int64_t> ids;  // assigned once all are saved: a failure leaves all unchanged
  session_.transact([&](Connection& connection) {
    ids.clear();
    for (std::size_t i = 0; i < trials.size(); ++i)
      ids.push_back(save_trial(connection, study_.id, run_, tokens[i], trials[i]));
    update_running(connection, study_.id, std::nullopt);  // and counts the change
  });
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].id = ids[i];
}

void PostgresWriter::amend(const trial::Trial& trial) {
  session_.transact([&](Connection& connection) {
    update_trial(connection, study_.id, run_, trial);
    count_change(connection, study_.id);
  });
}

void PostgresWriter::set_answer(const std::string& answer) {
  session_.transact([&](Connection& connection) { update_answer(connection, study_.id, answer); });
  study_.answer = answer;
}

void PostgresWriter::set_state(trial::StudyState state) {
  session_.transact([&](Connection& connection) { update_state(connection, study_.id, state); });
  study_.state = state;
}

void PostgresWriter::set_running(std::int64_t batch) {
  session_.transact([&](Connection& connection) { update_running(connection, study_.id, batch); });
}

}  // namespace sweetspot::store::postgres
