#pragma once
#include <optional>
#include <string>
#include <vector>

#include "workload/command/process/cgroup.h"
#include "workload/command/process/image.h"
#include "workload/command/process/meter.h"
#include "workload/command/process/process.h"
#include "workload/command/process/streams.h"
#include "workload/command/process/supervisor_link.h"
#include "workload/command/process/tree.h"

namespace sweetspot::workload::command::process {

// How often the OOM killer has been in the cgroup we share with the tree; nothing when unknown.
std::optional<std::uint64_t> shared_oom_kills();

// What a Process is made of; each member needs those above it, and is gone before them.
struct Process::State {
  explicit State(const Launch& launch);

  std::string name, mark;
  std::optional<std::uint64_t> oom_kills_before = shared_oom_kills();
  Streams streams;
  std::optional<Cgroup> cgroup;
  bool memory_limited = false;
  std::optional<SupervisorLink> supervisor;
  std::optional<Tree> tree;
  std::optional<Meter> meter;
  std::vector<Chunk> kept;  // read while ending, for take()
  std::optional<Ending> ending;

  bool empty() const;  // nothing of the tree is left
  // Takes in output and news until the tree is gone or the time is up.
  bool wait_until_empty(core::Seconds time);
  void kill_all();
  bool oom_killed() const;

 private:
  void start(const Launch& launch);
  void keep_output();
};

}  // namespace sweetspot::workload::command::process
