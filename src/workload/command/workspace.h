#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "trial/trial.h"
#include "workload/command/options.h"
#include "workload/command/process/process.h"
#include "workload/command/scratch.h"
#include "workload/command/template.h"

namespace sweetspot::workload::command {

// What a trial gets besides its arguments: the filled copies of the templates, its working
// directory, and with --scratch its own version of it. All of it is removed with the workspace or,
// if we are killed, with the trial's processes.
class Workspace {
 public:
  // InputError or MachineError if it cannot be created.
  Workspace(const Options& options, const trial::Setting& setting);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const Configs& configs() const { return configs_; }
  // For the program and the hooks of the trial.
  void furnish(process::Launch& launch) const;

 private:
  std::optional<std::filesystem::path> folder_;
  std::optional<PrivateFolder> room_;           // if there is something to put in it
  std::vector<std::filesystem::path> written_;  // copies in the user's folder
  Configs configs_;
  std::optional<Scratch> scratch_;
};

}  // namespace sweetspot::workload::command
