#include "store/sqlite/writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/file.h"
#include "store/sqlite/rows.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;
constexpr auto immediate = SQLite::TransactionBehavior::IMMEDIATE;

}  // namespace

SqliteWriter::SqliteWriter(fs::path file, const trial::StudyKey& study_key,
                           const trial::Environment& environment, bool fresh, Share share)
    : file_(std::move(file)), database_(open_for_writing(file_)), identity_(file_) {
  SQLite::Transaction transaction(*database_, immediate);
  std::int64_t id = fresh ? 0 : find_study(*database_, study_key.json);
  if (id == 0) id = insert_study(*database_, study_key);
  lock_ = try_lock(file_, id, share);
  if (!lock_) fail_locked(file_, id, last_pid(*database_, id));
  update_state(*database_, id, trial::StudyState::running);
  run_ = insert_run(*database_, id, environment);
  study_ = select_studies(*database_, id).at(0);
  study_.trials = select_trials(*database_, id);
  for (trial::Trial& trial : study_.trials) read_steps_and_trace(*database_, trial);
  transaction.commit();
}

SqliteWriter::~SqliteWriter() = default;

void SqliteWriter::save(std::span<trial::Trial> trials) {
  std::vector<std::int64_t> ids;  // assigned once all are saved: a failure leaves all unchanged
  write([&](SQLite::Database& database) {
    for (const trial::Trial& trial : trials)
      ids.push_back(save_trial(database, study_.id, run_, trial));
    update_running(database, study_.id, std::nullopt);
  });
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].id = ids[i];
}

void SqliteWriter::amend(const trial::Trial& trial) {
  write([&](SQLite::Database& database) { update_trial(database, study_.id, run_, trial); });
}

void SqliteWriter::set_answer(const std::string& answer) {
  write([&](SQLite::Database& database) { update_answer(database, study_.id, answer); });
  study_.answer = answer;
}

void SqliteWriter::set_state(trial::StudyState state) {
  write([&](SQLite::Database& database) { update_state(database, study_.id, state); });
  study_.state = state;
}

void SqliteWriter::set_running(std::int64_t batch) {
  write([&](SQLite::Database& database) { update_running(database, study_.id, batch); });
}

void SqliteWriter::write(const std::function<void(SQLite::Database&)>& work) {
  if (!rescued_to_.empty()) fail_gone();
  guarded(file_, [&] {
    SQLite::Transaction transaction(*database_, immediate);
    work(*database_);
    transaction.commit();
  });
  // An unlinked file still accepts writes, and is lost at the end.
  if (!identity_.still_at(file_)) rescue();
}

void SqliteWriter::rescue() {
  const fs::path copy = rescue_place();
  guarded(copy, [&] {
    SQLite::Statement vacuum(*database_, "VACUUM INTO ?");
    vacuum.bind(1, copy.string());
    vacuum.exec();
  });
  rescued_to_ = copy;
  fail_gone();
}

void SqliteWriter::fail_gone() const {
  const std::string copy = core::printable(rescued_to_.string());
  throw core::MachineError(
      fmt::format("{} was removed during the run; its finished trials are kept in {}, go on with "
                  "--db {}",
                  core::printable(file_.string()), copy, copy));
}

void fail_locked(const fs::path& file, std::int64_t study, std::optional<std::int64_t> pid) {
  throw core::MachineError(fmt::format(
      "study {} in {} is being written by another run{}; wait for it, or pass --db other.db", study,
      core::printable(file.string()), pid ? fmt::format(" (pid {})", *pid) : ""));
}

std::unique_ptr<Writer> open_writer(const fs::path& file, const trial::StudyKey& study_key,
                                    const trial::Environment& environment, bool fresh) {
  std::unique_ptr<Writer> writer;
  guarded(file, [&] {
    writer = std::make_unique<SqliteWriter>(file, study_key, environment, fresh, Share::alone);
  });
  return writer;
}

}  // namespace sweetspot::store::sqlite
