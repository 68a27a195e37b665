#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/flags/cluster_flags.h"
#include "cli/study_workload.h"
#include "cluster/cluster_run.h"
#include "cluster/scheduler.h"
#include "sweep/sweep.h"

namespace sweetspot::cli {

// The script that would be submitted for so many tasks.
std::string cluster_script(const ClusterFlags& flags, std::size_t tasks);

// A folder for the job's files in the current one, which all nodes are taken to see, and the
// scheduler. Removed with it, unless it is kept for its logs.
class ClusterJob {
 public:
  explicit ClusterJob(const ClusterFlags& flags);
  ~ClusterJob();
  ClusterJob(const ClusterJob&) = delete;
  ClusterJob& operator=(const ClusterJob&) = delete;

  cluster::ClusterRun run() const;
  const std::filesystem::path& folder() const { return folder_; }
  void keep_folder() { keeps_folder_ = true; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<cluster::Scheduler> scheduler_;
  bool keeps_folder_ = false;
};

// The newest study of this question, on whatever kind of machine: that is part of the question.
std::optional<trial::Study> newest_anywhere(const store::Store& store,
                                            const trial::Question& question);

// What this process does as a task: one trial, at the setting that its number stands for, left in
// the job's folder. A trial that could not end before the job does is cut short in time to be kept.
// `epochs`: of a training; else 0. The caller counts signals.
int run_cluster_task(const ClusterTask& task, const StudyWorkload& opened,
                     const trial::Question& question, sweep::SweepOptions options, int epochs);

}  // namespace sweetspot::cli
