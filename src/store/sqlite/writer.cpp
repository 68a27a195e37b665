#include "store/sqlite/writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/file.h"
#include "store/sqlite/identity.h"
#include "store/sqlite/lock.h"
#include "store/sqlite/rows.h"

namespace sweetspot::store::sqlite {
namespace {

namespace fs = std::filesystem;
constexpr auto immediate = SQLite::TransactionBehavior::IMMEDIATE;

class SqliteWriter : public Writer {
 public:
  SqliteWriter(fs::path file, const trial::Question& question,
               const trial::Environment& environment, bool fresh)
      : file_(std::move(file)), database_(open_for_writing(file_)), identity_(file_) {
    SQLite::Transaction transaction(*database_, immediate);
    std::int64_t id = fresh ? 0 : find_study(*database_, question.key);
    if (id == 0) id = insert_study(*database_, question);
    lock_ = try_lock(file_, id);
    if (!lock_) fail_locked(file_, id, last_pid(*database_, id));
    update_state(*database_, id, trial::StudyState::running);
    run_ = insert_run(*database_, id, environment);
    study_ = select_studies(*database_, id).at(0);
    study_.trials = select_trials(*database_, id);
    for (trial::Trial& trial : study_.trials) read_steps_and_trace(*database_, trial);
    transaction.commit();
  }

  const trial::Study& study() const override { return study_; }

  void save(std::span<trial::Trial> trials) override {
    std::vector<std::int64_t> ids;  // given once all are there: a failure leaves all as they were
    write([&] {
      for (const trial::Trial& trial : trials)
        ids.push_back(save_trial(*database_, study_.id, run_, trial));
    });
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].id = ids[i];
  }

  void amend(const trial::Trial& trial) override {
    write([&] { update_trial(*database_, study_.id, run_, trial); });
  }

  void set_answer(const std::string& answer) override {
    write([&] { update_answer(*database_, study_.id, answer); });
    study_.answer = answer;
  }

  void set_state(trial::StudyState state) override {
    write([&] { update_state(*database_, study_.id, state); });
    study_.state = state;
  }

 private:
  void write(const std::function<void()>& work) {
    if (!rescued_to_.empty()) fail_gone();
    guarded(file_, [&] {
      SQLite::Transaction transaction(*database_, immediate);
      work();
      transaction.commit();
    });
    // A file without a name still takes writes, and is lost at the end.
    if (!identity_.still_at(file_)) rescue();
  }

  void rescue() {
    const fs::path copy = rescue_place();
    guarded(copy, [&] {
      SQLite::Statement vacuum(*database_, "VACUUM INTO ?");
      vacuum.bind(1, copy.string());
      vacuum.exec();
    });
    rescued_to_ = copy;
    fail_gone();
  }

  [[noreturn]] void fail_gone() const {
    const std::string copy = core::printable(rescued_to_.string());
    throw core::MachineError(
        fmt::format("{} was removed during the run; its finished trials are kept in {}, go on with "
                    "--db {}",
                    core::printable(file_.string()), copy, copy));
  }

  fs::path file_;
  std::unique_ptr<SQLite::Database> database_;
  Identity identity_;
  std::optional<Lock> lock_;
  std::int64_t run_ = 0;
  trial::Study study_;
  fs::path rescued_to_;
};

}  // namespace

void fail_locked(const fs::path& file, std::int64_t study, std::optional<std::int64_t> pid) {
  throw core::MachineError(fmt::format(
      "study {} in {} is being written by another run{}; wait for it, or pass --db other.db", study,
      core::printable(file.string()), pid ? fmt::format(" (pid {})", *pid) : ""));
}

std::unique_ptr<Writer> open_writer(const fs::path& file, const trial::Question& question,
                                    const trial::Environment& environment, bool fresh) {
  std::unique_ptr<Writer> writer;
  guarded(file,
          [&] { writer = std::make_unique<SqliteWriter>(file, question, environment, fresh); });
  return writer;
}

}  // namespace sweetspot::store::sqlite
