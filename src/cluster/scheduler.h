#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::cluster {

// The state of one task of a job.
struct Task {
  // `lost`: removed from its node through no fault of its own, and not requeued.
  enum class State { waiting, running, done, failed, lost };
  std::size_t number = 0;
  State state = State::waiting;
  // For a failed one: its trial's outcome, and the reason.
  trial::Outcome outcome = trial::Outcome::crashed;
  std::string note;
};

// Runs tasks on other machines. A task is known by its number; what it does is up to the submitter.
// MachineError, in one sentence, if the scheduler cannot be reached.
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
