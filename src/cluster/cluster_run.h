#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "cluster/scheduler.h"
#include "core/units.h"
#include "trial/study.h"

namespace sweetspot::cluster {

// Settings that run as tasks of a cluster's scheduler, each on a machine of its own.
struct ClusterRun {
  Scheduler& scheduler;
  std::filesystem::path folder;  // that all machines see
  core::Seconds look_every{2};
  int most_attempts = 3;  // at a task that is taken off its node
  std::function<void(const std::string& job, std::size_t tasks)> submitted = [](auto&, auto) {};
};

// The trial of a task, and the study that a process on its machine would have had: what decides a
// speed is part of that study's question, so that machines that are unlike have different ones.
// Nothing is known of the machine where the task never began.
struct TaskTrial {
  trial::Trial trial;
  std::optional<trial::Study> study;
};

struct ClusterEnd {
  bool stopped = false;       // by us: the jobs are cancelled
  std::size_t cancelled = 0;  // tasks, by others
};

// Runs them all. `taken` hears of each trial as it comes: as the task measured it, or, of a task
// that died, with the outcome and the reason that the scheduler tells.
ClusterEnd run_on_cluster(const ClusterRun& run, std::span<const trial::Setting> settings,
                          const std::function<void(const TaskTrial&)>& taken,
                          const std::atomic<int>& stop);

}  // namespace sweetspot::cluster
