#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trial/study.h"

namespace sweetspot::store {

// A study that this process writes; held until destruction, so that a second writer is refused.
class Writer {
 public:
  virtual ~Writer() = default;
  // With the trials that were there when it was opened, their raw steps included.
  virtual const trial::Study& study() const = 0;
  // Adds those without an id, which they get, and replaces those with one: a trial that takes part
  // in rounds is saved again as it grows. All or none; on the disk when it returns
  // (synchronous=FULL): a kill right after loses nothing.
  virtual void save(std::span<trial::Trial> trials) = 0;
  // Says otherwise of a trial that is there: all but its steps, trace and epochs.
  virtual void amend(const trial::Trial& trial) = 0;
  // The study's answer so far, as JSON.
  virtual void set_answer(const std::string& answer) = 0;
  virtual void set_state(trial::StudyState state) = 0;
};

// Notices what other processes do to a store, in microseconds: a running study is looked at several
// times a second.
class Follower {
 public:
  virtual ~Follower() = default;
  // Whether studies() may say something else than at the call before; true the first time.
  virtual bool changed() = 0;
};

// Trial history. Many processes may read while one writes. MachineError or InputError in one
// sentence: locked by another run (with its pid), newer schema, corrupt, read-only, disk full,
// gone.
class Store {
 public:
  virtual ~Store() = default;
  // The unfinished or finished study with this question's key, or a new one; `fresh` always starts
  // a new one and keeps the old.
  virtual std::unique_ptr<Writer> open_study(const trial::Question&, const trial::Environment&,
                                             bool fresh) = 0;
  // Newest first, trials without raw steps and traces. A study whose process was killed is
  // `stopped`.
  virtual std::vector<trial::Study> studies() const = 0;
  virtual std::optional<trial::Study> study(std::int64_t id) const = 0;  // with both
  virtual std::optional<trial::Trial> trial(std::int64_t id) const = 0;  // likewise, of any study
  virtual std::unique_ptr<Follower> follow() const = 0;
  virtual bool remove(std::int64_t id) = 0;
};

// "sqlite:PATH" or a bare path. Created if missing, by the first open_study(): reading makes no
// file and finds no studies. Migrated if older.
std::unique_ptr<Store> open_store(const std::string& url);
// --db, else SWEETSPOT_DB, else sqlite:sweetspot.db in the current directory.
std::string store_url(const std::optional<std::string>& asked);

}  // namespace sweetspot::store
