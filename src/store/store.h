#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
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
  // For whoever reads along: this batch is being run, until a trial is saved or the state is set.
  virtual void set_running(std::int64_t batch) = 0;
};

// When a process that has taken work is given up.
struct QueueTerms {
  core::Seconds lost_after{60};  // since its last beat, by the store's clock
  int most_attempts = 3;         // at one setting, before it is called `killed`
};

// A setting that this process has taken, to run it once.
struct Claim {
  std::int64_t task = 0, attempt = 0;  // of the store
  trial::Setting setting;
  int number = 1;  // of the attempt: those before were lost with their processes
};

// One try of a process at a setting of a queue: its history.
struct Attempt {
  enum class Ending { running, finished, lost, given_back };
  trial::Setting setting;
  std::string host;
  std::int64_t pid = 0;
  double started_at = 0, seconds = 0;  // until its end or its last beat, by the store's clock
  std::int64_t steps = 0;              // at its last beat
  Ending ending = Ending::running;
};

struct QueueCount {
  std::int64_t waiting = 0, running = 0, finished = 0;
};

// The settings of a study that several processes measure, each taken by one of them at a time.
// While it lives, no Writer can hold the study, and any number of other queues can. For one thread,
// but for beat().
class Queue {
 public:
  virtual ~Queue() = default;
  // Of the study that is shared. save() is for what is no setting of the queue.
  virtual Writer& writer() = 0;
  // Adds what is missing: each setting as often as it stands here, less what the study has or waits
  // for already. Whoever joins may say it again.
  virtual void plan(std::span<const trial::Setting> settings) = 0;
  // The next that waits; nothing when none does. What lost processes had is queued again first; a
  // setting that lost as many as the terms allow gets a `killed` trial instead.
  virtual std::optional<Claim> claim() = 0;
  // Says that the claim is still worked on. False once it is no longer ours. From any thread.
  virtual bool beat(const Claim& claim, std::int64_t steps) = 0;
  // Keeps the trial, which gets its id, as the claim's. False, and nothing kept, where the claim is
  // no longer ours: another has it.
  virtual bool finish(const Claim& claim, trial::Trial& trial) = 0;
  // It is not finished, by no fault of its own: it waits for another.
  virtual void give_back(const Claim& claim) = 0;
  virtual QueueCount count() = 0;
};

// Notices what other processes do to a store, in microseconds, or what the way to its server takes:
// a running study is looked at several times a second.
class Follower {
 public:
  virtual ~Follower() = default;
  // Whether studies() may say something else than at the call before; true the first time.
  virtual bool changed() = 0;
};

// Trial history. Many processes may read while one writes, or several that share a queue.
// MachineError or InputError in one sentence: locked by another run (with its pid), newer schema,
// corrupt, read-only, disk full, gone.
class Store {
 public:
  virtual ~Store() = default;
  // The unfinished or finished study with this study key's key, or a new one; `fresh` always starts
  // a new one and keeps the old.
  virtual std::unique_ptr<Writer> open_study(const trial::StudyKey&, const trial::Environment&,
                                             bool fresh) = 0;
  // The same, shared with whoever else joins it.
  virtual std::unique_ptr<Queue> join_study(const trial::StudyKey&, const trial::Environment&,
                                            const QueueTerms&) = 0;
  // Newest first, trials without raw steps and traces. A study whose process was killed is
  // `stopped`.
  virtual std::vector<trial::Study> studies() const = 0;
  virtual std::optional<trial::Study> study(std::int64_t id) const = 0;  // with both
  virtual std::optional<trial::Trial> trial(std::int64_t id) const = 0;  // likewise, of any study
  virtual std::vector<Attempt> attempts(std::int64_t study) const = 0;   // oldest first
  virtual std::unique_ptr<Follower> follow() const = 0;
  virtual bool remove(std::int64_t id) = 0;
};

// "sqlite:PATH", a bare path, or "postgresql://…" as libpq reads it. Created if missing, by the
// first study: reading makes nothing and finds no studies. Migrated if older.
std::unique_ptr<Store> open_store(const std::string& url);
bool is_postgres(std::string_view url);  // else a file
// --db, else SWEETSPOT_DB, else sqlite:sweetspot.db in the current directory.
std::string store_url(const std::optional<std::string>& asked);

// What the queues of all stores agree on.

// Of the settings that are wanted, each as often as it stands there, those that are not among
// `has`.
std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has);

// What is kept of a setting whose processes were lost so many times, the last of them this one.
trial::Trial lost_trial(const trial::Setting& setting, int times, const std::string& host,
                        std::int64_t pid);

std::string_view name(Attempt::Ending ending);
std::optional<Attempt::Ending> ending_named(std::string_view text);

}  // namespace sweetspot::store
