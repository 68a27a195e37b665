#pragma once
#include <memory>

#include "workload/command/options.h"
#include "workload/training.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

class Trials;

// Any training program, run anew for each trial, or asked for setting after setting where its
// client opens a session. Its steps come from the client, else from what it prints, else they are
// whole runs of the program. Used by one thread: the program lives no longer than that.
class CommandWorkload final : public Workload {
 public:
  // Checks the options and runs --setup; InputError when either fails.
  explicit CommandWorkload(Options options);
  ~CommandWorkload() override;

  std::string name() const override;
  std::string device() const override;  // as the last trial showed it
  std::optional<std::string> batch_handover() const override;
  std::unique_ptr<Session> open(const trial::Setting& setting) override;

  // Ends a program that was kept and runs --cleanup; InputError when that fails. The destructor
  // does the same but cannot tell.
  void finish() override;

 private:
  std::unique_ptr<Trials> trials_;
};

// A training program, run until what it tells of its test data is enough, or to its own end: how
// many epochs it trains is its own affair. Training time is that of the steps that it shows.
class CommandTraining final : public Training {
 public:
  // Options::metric says what is looked for.
  explicit CommandTraining(Options options);
  ~CommandTraining() override;

  std::string device() const override { return workload_.device(); }
  Trained train(const trial::Setting& setting, int epochs, TrainingObserver& observer,
                const std::atomic<int>& stop) override;

 private:
  trial::Target::Metric metric_;
  CommandWorkload workload_;
};

}  // namespace sweetspot::workload::command
