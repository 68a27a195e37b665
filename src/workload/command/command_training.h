#pragma once
#include <memory>

#include "workload/command/workload.h"
#include "workload/training.h"

namespace sweetspot::workload::command {

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
