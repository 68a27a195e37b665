#pragma once
#include <memory>

#include "store/postgres/session.h"
#include "store/store.h"

namespace sweetspot::store::postgres {

// Writes a study alone, or together with others that share its queue.
class PostgresWriter : public Writer {
 public:
  PostgresWriter(const std::string& url, const trial::StudyKey& study_key,
                 const trial::Environment& environment, bool fresh, Share share);

  const trial::Study& study() const override { return study_; }
  void save(std::span<trial::Trial> trials) override;
  void amend(const trial::Trial& trial) override;
  void set_answer(const std::string& answer) override;
  void set_state(trial::StudyState state) override;
  void set_running(std::int64_t batch) override;

  Session& session() { return session_; }
  std::int64_t run() const { return run_; }

 private:
  Session session_;
  trial::Study study_;
  std::int64_t run_ = 0;
};

// MachineError that names the process that writes this study.
[[noreturn]] void fail_locked(Connection& connection, const std::string& url, std::int64_t study);

// Unique across processes.
std::string new_token();

}  // namespace sweetspot::store::postgres
