#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::cluster {

// Where one task of a job stands.
struct Task {
  // `lost`: taken off its node by no fault of its own, and not queued again by itself.
  enum class State { waiting, running, done, failed, lost };
  std::size_t number = 0;
  State state = State::waiting;
  // Of one that failed: what its trial came to, and why.
  trial::Outcome outcome = trial::Outcome::crashed;
  std::string note;
};

// Whatever runs tasks on other machines. A task is known by its number; what it does is between its
// submitter and itself. MachineError, in one sentence, when the scheduler cannot be asked.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // The job's id. Its tasks are the ones with these numbers.
  virtual std::string submit(std::span<const std::size_t> tasks) = 0;
  // Of all its tasks.
  virtual std::vector<Task> tasks(const std::string& job) = 0;
  virtual void cancel(const std::string& job) = 0;
};

}  // namespace sweetspot::cluster
