#pragma once
#include <optional>
#include <string>
#include <vector>

#include "workload/command/process/cgroup.h"
#include "workload/command/process/peak_memory.h"
#include "workload/command/process/process.h"
#include "workload/command/process/streams.h"
#include "workload/command/process/supervisor.h"
#include "workload/command/process/tree.h"

namespace sweetspot::workload::command::process {

// Everything execve() needs, prepared before the fork: nothing may be allocated after it, because
// another thread may hold the allocator's lock.
class Image {
 public:
  // `mark` is the variable that identifies the tree's processes.
  Image(const Launch& launch, const std::string& mark);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const char* const* candidates() const { return candidates_.data(); }  // ends with nullptr
  char* const* argv() const { return argv_.data(); }
  char* const* environment() const { return environment_.data(); }
  const char* folder() const { return folder_.empty() ? nullptr : folder_.c_str(); }
  // rm -rf of the launch's leftovers, or nullptr if there are none.
  char* const* remove() const { return removal_.empty() ? nullptr : remove_.data(); }

 private:
  std::vector<std::string> paths_, arguments_, variables_, removal_;
  std::string folder_;
  std::vector<const char*> candidates_;
  std::vector<char*> argv_, environment_, remove_;
};

// How often the OOM killer ran in the cgroup we share with the tree; nullopt if unknown.
std::optional<std::uint64_t> shared_oom_kills();

// The parts of a Process; each member needs those above it, and is destroyed before them.
struct Process::State {
  explicit State(const Launch& launch);

  std::string name, mark;
  std::optional<std::uint64_t> oom_kills_before = shared_oom_kills();
  Streams streams;
  std::optional<Cgroup> cgroup;
  bool memory_limited = false;
  std::optional<SupervisorLink> supervisor;
  std::optional<Tree> tree;
  std::optional<PeakMemory> peak_memory;
  std::vector<Chunk> kept;  // read while ending, for take()
  std::optional<Ending> ending;

  bool empty() const;  // nothing of the tree is left
  // Reads output and messages until the tree is gone or the time is up.
  bool wait_until_empty(core::Seconds time);
  void kill_all();
  bool oom_killed() const;

 private:
  void start(const Launch& launch);
  void keep_output();
};

}  // namespace sweetspot::workload::command::process
