#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "cluster/scheduler.h"
#include "core/units.h"
#include "store/store.h"
#include "trial/study.h"

namespace sweetspot::cluster {

// Settings that run as tasks of a cluster's scheduler, each on its own machine.
struct ClusterRun {
  Scheduler& scheduler;
  std::filesystem::path folder;  // visible to all machines
  core::Seconds look_every{2};
  int most_attempts = 3;           // at a task that lost its node
  store::Store* shared = nullptr;  // one that all machines may reach; else trials come as files
  std::function<void(const std::string& job, std::size_t tasks)> submitted = [](auto&, auto) {};
};

// The trial of a task, and the study that a process on its machine would have had: what determines
// speed is part of that study's key, so that different machines have different ones. nullopt if the
// task never began, because its machine is unknown.
struct TaskTrial {
  trial::Trial trial;
  std::optional<trial::Study> study;
};

struct ClusterEnd {
  bool stopped = false;       // by us: the jobs are cancelled
  std::size_t cancelled = 0;  // tasks, by others
};

// Runs them all. `taken` receives each trial as it arrives: as the task measured it, or, for a task
// that died, with the scheduler's outcome and reason.
ClusterEnd run_on_cluster(const ClusterRun& run, std::span<const trial::Setting> settings,
                          const std::function<void(const TaskTrial&)>& taken,
                          const std::atomic<int>& stop);

}  // namespace sweetspot::cluster
