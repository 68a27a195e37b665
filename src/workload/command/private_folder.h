#pragma once
#include <filesystem>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command {

// A folder of mode 0700 for the client's socket, with a name short enough for one in it, or for the
// files of a trial, on a disk. Gone with its owner; should that be killed, the next one that is
// made beside it removes it: its lock is gone by then.
class PrivateFolder {
 public:
  enum class Use { socket, trial };
  explicit PrivateFolder(Use use);  // MachineError when none can be made
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  process::Descriptor lock_;
};

}  // namespace sweetspot::workload::command
