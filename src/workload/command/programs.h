#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "workload/command/gpu/watch.h"
#include "workload/command/options.h"
#include "workload/command/program.h"
#include "workload/command/redact.h"
#include "workload/command/workspace.h"

namespace sweetspot::workload::command {

// What outlives a trial: the options, the process of a session between two settings, and what
// earlier trials showed.
class Programs {
 public:
  explicit Programs(Options options);

  const Options& options() const { return options_; }
  const Secrets& secrets() const { return secrets_; }

  // --prepare, then a process for the setting: the kept one, or a new one. Ended(crashed) if a hook
  // failed, this one or the last --conclude; Ended(cancelled) if there is no more time.
  std::unique_ptr<Program> start(const trial::Setting& setting, const Until& until);
  void conclude(const trial::Setting& setting, const Until& until);
  // For the next setting: it waits for one.
  void keep(std::unique_ptr<Program> program) { kept_ = std::move(program); }

  // Whether the program is worth a second run on a terminal: once, and not again unless it helped.
  bool try_terminal();
  void terminal_was_no_help() { terminal_ = false; }

  // Of the last successful trial.
  std::string device() const { return device_.value_or("cpu"); }
  void note_device(std::string device) { device_ = std::move(device); }

  // Earlier trials' use of GPUs.
  gpu::History& gpu_history() { return gpu_history_; }

  // Tells the kept process that there is nothing more to measure, and waits for nothing: it may
  // have something to save, and ends while the answer is written.
  void release();
  // Ends the kept process and runs --cleanup, once.
  void finish(const Until& until);

 private:
  void end_kept(const Until& until);
  std::optional<core::Bytes> host_memory_limit() const;
  std::optional<std::string> run_trial_hook(const char* flag, const std::string& hook,
                                            const trial::Setting& setting,
                                            const std::function<bool()>& give_up);

  Options options_;
  gpu::Gpus gpus_;
  gpu::History gpu_history_;
  std::optional<std::string> device_;
  Secrets secrets_;
  std::unique_ptr<Workspace> workspace_;  // of the running trial, or of the kept process
  bool terminal_, tried_terminal_ = false, finished_ = false, caller_met_ = false,
                  released_ = false;
  std::unique_ptr<Program> kept_;
  std::optional<std::string> failed_conclude_;
};

}  // namespace sweetspot::workload::command
