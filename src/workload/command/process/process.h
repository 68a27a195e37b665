#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace sweetspot::workload::command::process {

struct Launch {
  std::vector<std::string> argv;                                      // found on PATH; no shell
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours
  std::optional<std::filesystem::path> folder = {};                   // to run in
  // Output on a pseudo-terminal (raw, 24 rows of 200 columns) or in two pipes; there is never any
  // input.
  bool terminal = false;
  std::optional<core::Bytes> memory_limit = {};  // for the whole tree, if a cgroup can be created
  // Descriptors of the namespaces to run in, or -1: ours.
  int user_namespace = -1, mount_namespace = -1;
  // Files and folders that the supervisor removes once the tree is gone, if we die before.
  std::vector<std::filesystem::path> leftovers = {};
};

struct Chunk {
  bool error_stream = false;  // always false on a terminal, which has only one stream
  std::string bytes;
  double at_seconds = 0;  // when it was read, by CLOCK_MONOTONIC
};

struct Memory {
  core::Bytes peak = 0;
  std::string how;  // "cgroup v2 memory.peak less page cache", "sum of PSS over the tree", …
};

struct Ending {
  std::optional<int> exit_code, signal;  // of the main process
  bool stopped_by_us = false;            // it was still running when end() was called
  bool oom_killed = false;  // the OOM killer took a process of the tree's cgroup, or of
                            // the one we share with it where it has none of its own
  std::optional<Memory> memory;
  double cpu_seconds = 0;  // user and system, of every process of the tree
};

// The training process, observed from outside. For one thread at a time.
class Watched {
 public:
  virtual ~Watched() = default;
  // For poll(): one is readable when there is output to take, or the main process has ended.
  virtual std::vector<int> descriptors() const = 0;
  // The output since the last call, without blocking; at most about 1 MiB per call.
  virtual std::vector<Chunk> take() = 0;
  // The main process has exited; its last output may still have to be taken.
  virtual bool ended() = 0;
  // The peak so far; costs the tree under half a percent of a core, however often it is called.
  virtual std::optional<Memory> memory() = 0;
  // The number of live processes.
  virtual std::size_t count() const = 0;
  // Resets the peak, if possible: false if not.
  virtual bool forget_peak() { return false; }
  virtual Ending end(core::Seconds grace) = 0;
  // Its processes, from any thread, until end().
  virtual std::vector<pid_t> members() const = 0;
  virtual bool has(pid_t pid) const = 0;
};

// A program and everything it starts. A supervisor (supervisor.h) is between us and the tree, so
// the tree is gone when this process is, however it dies.
class Process final : public Watched {
 public:
  // InputError if the program cannot be started; MachineError if nothing can.
  explicit Process(const Launch& launch);
  ~Process() override;  // end(0)
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::vector<int> descriptors() const override;
  std::vector<Chunk> take() override;
  bool ended() override;
  std::optional<Memory> memory() override;
  std::size_t count() const override;
  // Whether the requested limit is in force.
  bool memory_limited() const;
  // SIGTERM to the whole tree, SIGKILL after `grace`. Nothing of the tree is left when this
  // returns; MachineError if the kernel cannot end a process. Its last output can be taken
  // afterwards.
  Ending end(core::Seconds grace) override;
  std::vector<pid_t> members() const override;
  bool has(pid_t pid) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sweetspot::workload::command::process
