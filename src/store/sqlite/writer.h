#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "store/sqlite/file.h"
#include "store/sqlite/lock.h"
#include "store/store.h"

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// Writes a study alone, or together with others that share its queue.
class SqliteWriter : public Writer {
 public:
  SqliteWriter(std::filesystem::path file, const trial::StudyKey& study_key,
               const trial::Environment& environment, bool fresh, Share share);
  ~SqliteWriter() override;

  const trial::Study& study() const override { return study_; }
  void save(std::span<trial::Trial> trials) override;
  void amend(const trial::Trial& trial) override;
  void set_answer(const std::string& answer) override;
  void set_state(trial::StudyState state) override;
  void set_running(std::int64_t batch) override;

  // One transaction. If the file was removed meanwhile, its contents are rescued, and the user is
  // told.
  void write(const std::function<void(SQLite::Database&)>& work);
  std::int64_t run() const { return run_; }

 private:
  void rescue();
  [[noreturn]] void fail_gone() const;

  std::filesystem::path file_;
  std::unique_ptr<SQLite::Database> database_;
  Identity identity_;
  std::optional<Lock> lock_;
  std::int64_t run_ = 0;
  trial::Study study_;
  std::filesystem::path rescued_to_;
};

std::unique_ptr<Writer> open_writer(const std::filesystem::path& file,
                                    const trial::StudyKey& study_key,
                                    const trial::Environment& environment, bool fresh);

// MachineError that names the process that writes this study.
[[noreturn]] void fail_locked(const std::filesystem::path& file, std::int64_t study,
                              std::optional<std::int64_t> pid);

}  // namespace sweetspot::store::sqlite
