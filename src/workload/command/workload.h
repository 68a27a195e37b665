#pragma once
#include <memory>

#include "workload/command/options.h"
#include "workload/training.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

class Programs;

// Any training program, started for each trial, or trained setting after setting if its client
// opens a session. Its steps come from the client, else from its output, else they are whole runs
// of the program. Used by one thread: the program lives no longer than that.
class CommandWorkload final : public Workload {
 public:
  // Checks the options and runs --setup; InputError if either fails.
  explicit CommandWorkload(Options options);
  ~CommandWorkload() override;

  std::string name() const override;
  std::string device() const override;  // as the last trial showed it
  About about() const override;
  std::unique_ptr<Session> open(const trial::Setting& setting) override;

  // Ends a kept program and runs --cleanup. The destructor does the same but cannot report a
  // failure.
  std::function<void(const Until&)> finish() override;

 private:
  std::unique_ptr<Programs> programs_;
};

// A training program, run until its reported metrics are enough, or to its own end: it decides how
// many epochs it trains. Training time is that of the visible steps.
class CommandTraining final : public Training {
 public:
  // Options::metric says what to look for.
  explicit CommandTraining(Options options);
  ~CommandTraining() override;

  std::string device() const override;
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const Until& until) override;

 private:
  trial::Target::Metric metric_;
  std::unique_ptr<Programs> programs_;
};

}  // namespace sweetspot::workload::command
