#pragma once
#include <memory>

#include "store/database.h"
#include "store/rows.h"
#include "store/store.h"

namespace sweetspot::store {

// Writes a study alone, or together with others that share its queue.
class StudyWriter : public Writer {
 public:
  StudyWriter(const Database& database, const trial::StudyKey& study_key,
              const trial::Environment& environment, bool fresh, Share share);

  const trial::Study& study() const override { return study_; }
  void save(std::span<trial::Trial> trials) override;
  void amend(const trial::Trial& trial) override;
  void set_answer(const std::string& answer) override;
  void set_end(trial::End end) override;
  void set_running(std::int64_t batch) override;

  Session& session() { return *session_; }
  std::int64_t run() const { return run_; }
  // The next that this run saves. Drawn outside of what may be repeated.
  Saving saving() { return {study_.id, run_, ++saved_}; }

 private:
  std::unique_ptr<Session> session_;
  trial::Study study_;
  std::int64_t run_ = 0, saved_ = 0;
};

// MachineError that names the process that writes this study.
[[noreturn]] void fail_locked(const Database& database, Connection& connection, std::int64_t study);

}  // namespace sweetspot::store
