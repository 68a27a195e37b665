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

// A study that this process writes; locked until destruction, so that a second writer is rejected.
class Writer {
 public:
  virtual ~Writer() = default;
  // With the trials that existed when it was opened, including their raw steps.
  virtual const trial::Study& study() const = 0;
  // Adds those without an id, which they get, and replaces those with one: a trial in rounds is
  // saved again as it grows. All or none; on disk when it returns (synchronous=FULL): a kill right
  // after loses nothing.
  virtual void save(std::span<trial::Trial> trials) = 0;
  // Replaces an existing trial except its raw steps and trace.
  virtual void amend(const trial::Trial& trial) = 0;
  // The study's answer so far, as JSON.
  virtual void set_answer(const std::string& answer) = 0;
  virtual void set_end(trial::End end) = 0;
  // For readers: this batch is running, until a trial is saved or the state is set.
  virtual void set_running(std::int64_t batch) = 0;
};

// When a process that has claimed work is considered lost.
struct QueueTerms {
  core::Seconds lost_after{60};  // since its last heartbeat, by the store's clock
  int most_attempts = 3;         // per setting, before it becomes `killed`
};

// A setting that this process has claimed, to run it once.
struct Claim {
  std::int64_t task = 0, attempt = 0;  // ids in the store
  trial::Setting setting;
  int number = 1;  // of the attempt: earlier ones were lost with their processes
};

// One attempt of a process at a setting of a queue.
struct Attempt {
  enum class Ending { running, finished, lost, given_back };
  trial::Setting setting;
  std::string host;
  std::int64_t pid = 0;
  double started_at = 0, seconds = 0;  // until its end or its last heartbeat, by the store's clock
  std::int64_t steps = 0;              // at its last heartbeat
  Ending ending = Ending::running;
};

struct QueueCount {
  std::int64_t waiting = 0, running = 0, finished = 0;
};

// The settings of a study that several processes measure, each claimed by one of them at a time.
// While it exists, no Writer can hold the study, and any number of other queues can. For one
// thread, except beat().
class Queue {
 public:
  virtual ~Queue() = default;
  // The writer of the shared study. Use save() only for trials that are not settings of the queue.
  virtual Writer& writer() = 0;
  // Adds what is missing: each setting as often as it occurs here, minus what the study already has
  // or queues. Any joiner may call it again.
  virtual void plan(std::span<const trial::Setting> settings) = 0;
  // The next queued setting; nullopt if there is none. Settings of lost processes are queued again
  // first; a setting that lost as many as the terms allow gets a `killed` trial instead.
  virtual std::optional<Claim> claim() = 0;
  // Heartbeat of a claim. False once it is no longer ours. From any thread.
  virtual bool beat(const Claim& claim, std::int64_t steps) = 0;
  // Saves the trial, which gets its id, as the claim's. False, and nothing saved, if the claim is
  // no longer ours: another process has it.
  virtual bool finish(const Claim& claim, trial::Trial& trial) = 0;
  // Returns an unfinished claim to the queue.
  virtual void give_back(const Claim& claim) = 0;
  virtual QueueCount count() = 0;
};

// Notices what other processes do to a store, in microseconds plus the round trip to its server: a
// running study is polled several times a second.
class Follower {
 public:
  virtual ~Follower() = default;
  // Whether studies() may differ from the previous call; true the first time.
  virtual bool changed() = 0;
};

// Trial history. Many processes may read while one writes, or several that share a queue.
// MachineError or InputError in one sentence: locked by another run (with its pid), older or newer
// schema, corrupt, read-only, disk full, gone.
class Store {
 public:
  virtual ~Store() = default;
  // The unfinished or finished study with this study key, or a new one; `fresh` always starts a new
  // one and keeps the old.
  virtual std::unique_ptr<Writer> open_study(const trial::StudyKey&, const trial::Environment&,
                                             bool fresh) = 0;
  // The same, shared with everyone else who joins it.
  virtual std::unique_ptr<Queue> join_study(const trial::StudyKey&, const trial::Environment&,
                                            const QueueTerms&) = 0;
  // Newest first, trials without raw steps and traces. A study whose process was killed is
  // `stopped`.
  virtual std::vector<trial::Study> studies() const = 0;
  virtual std::optional<trial::Study> study(std::int64_t id) const = 0;  // including both
  virtual std::optional<trial::Trial> trial(std::int64_t id) const = 0;  // likewise, of any study
  virtual std::vector<Attempt> attempts(std::int64_t study) const = 0;   // oldest first
  virtual std::unique_ptr<Follower> follow() const = 0;
  virtual bool remove(std::int64_t id) = 0;
};

// "sqlite:PATH", a bare path, or "postgresql://…" as parsed by libpq. Created if missing, by the
// first study: reading creates nothing and finds no studies. "memory:" is a new one, in the memory
// of this process, that ends with the last object that uses it.
std::unique_ptr<Store> open_store(const std::string& url);
bool is_postgres(std::string_view url);  // else a file
// --db, else SWEETSPOT_DB, else sqlite:sweetspot.db in the current directory.
std::string store_url(const std::optional<std::string>& asked);

// The wanted settings, each as often as it occurs, that are not among `has`.
std::vector<trial::Setting> missing(std::span<const trial::Setting> wanted,
                                    std::span<const trial::Setting> has);

}  // namespace sweetspot::store
