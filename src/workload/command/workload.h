#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/descriptor.h"
#include "workload/command/gpu/watch.h"
#include "workload/command/options.h"
#include "workload/command/redact.h"
#include "workload/training.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

class Program;
class Workspace;

// Any training program, started for each trial, or trained setting after setting if its client
// opens a session. Its steps come from the client, else from its output, else they are whole runs
// of the program. Used by one thread: the program lives no longer than that.
class CommandWorkload final : public Workload {
 public:
  // Checks the options and runs --setup; InputError if either fails.
  explicit CommandWorkload(Options options);
  ~CommandWorkload() override;  // as finish(), which can report a failure

  std::string name() const override;
  std::string device() const override;  // as the last trial showed it
  About about() const override;
  std::unique_ptr<Session> open(const trial::Setting& setting) override;
  Switching switching() const override { return {.cost = start_up_}; }
  // Ends a kept program and runs --cleanup, once.
  std::function<void(const Until&)> finish() override;

  // For its sessions.
  const Options& options() const { return options_; }
  const Secrets& secrets() const { return secrets_; }
  gpu::History& gpu_history() { return gpu_history_; }  // of earlier trials
  // --prepare, then a program for the setting: the kept one, or a new one. Ended(crashed) if a hook
  // failed, this one or the last --conclude; Ended(cancelled) if there is no more time.
  std::unique_ptr<Program> start(const trial::Setting& setting, const Until& until);
  // After it, --conclude.
  void conclude(const trial::Setting& setting, const Until& until);
  // For the next setting: it waits for one.
  void keep(std::unique_ptr<Program> program);
  void note(const Account& account);
  // Whether the program is worth a second run on a terminal: once, and not again unless it helped.
  bool try_terminal();
  void terminal_was_no_help();

 private:
  std::unique_ptr<Program> new_program(const trial::Setting& setting);
  void end(const Until& until);
  void end_kept(const Until& until);
  std::optional<core::Bytes> host_memory_limit() const;

  Options options_;
  Secrets secrets_;
  gpu::Gpus gpus_;
  gpu::History gpu_history_;
  std::optional<std::string> device_;
  core::Seconds start_up_{0};             // of the last trial
  std::unique_ptr<Workspace> workspace_;  // of the running trial, or of the kept program
  Terminal terminal_;
  core::Descriptor caller_;  // the connection to the program that called us, until it is used
  std::unique_ptr<Program> kept_;
  std::optional<std::string> failed_conclude_;
};

// A training program, run until its reported metrics are enough, or to its own end: it decides how
// many epochs it trains. Training time is that of the visible steps.
class CommandTraining final : public Training {
 public:
  // Options::metric says what to look for.
  explicit CommandTraining(Options options)
      : metric_(options.metric.value_or(trial::Target::Metric::accuracy)),
        workload_(std::move(options)) {}

  std::string device() const override { return workload_.device(); }
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const Until& until) override;

 private:
  trial::Target::Metric metric_;
  CommandWorkload workload_;
};

}  // namespace sweetspot::workload::command
