#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/cluster_flags.h"
#include "cli/study_workload.h"
#include "cluster/cluster_run.h"
#include "cluster/scheduler.h"
#include "sweep/sweep.h"
#include "workload/one_at_a_time.h"

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

// The newest study of this study key, on whatever kind of machine: that is part of the question.
std::optional<trial::Study> newest_anywhere(const store::Store& store,
                                            const trial::StudyKey& study_key);

// What this process does as a task: one trial, at the setting that its number stands for, left in
// the job's folder. A trial that could not end before the job does is cut short in time to be kept.
// `epochs`: of a training; else 0. The caller counts signals.
int run_cluster_task(const ClusterTask& task, const StudyWorkload& opened,
                     const trial::StudyKey& study_key, sweep::SweepOptions options, int epochs);

struct ClusterSweep {
  sweep::SweepResult result;          // of the kind of machines that measured most
  std::optional<trial::Study> study;  // theirs, without trials; nothing where nothing was measured
  std::string note;                   // of other kinds of machines, and of what is missing
};

// Runs what is missing of a sweep in a study, which is nothing, and concludes it.
using Conclude = std::function<sweep::SweepResult(store::Writer&)>;

// The points of a sweep as tasks of a cluster, less what the store has. Trials of unlike machines
// are kept in studies of their own.
ClusterSweep sweep_on_cluster(const ClusterFlags& cluster, const StudyFlags& flags,
                              const StudyWorkload& opened, const trial::StudyKey& study_key,
                              const sweep::SweepOptions& options, store::Store& store,
                              const Conclude& conclude);

// The trials of a search as tasks of a cluster, one after the other: what is tried next depends on
// the ones before.
class ClusterTune {
 public:
  ClusterTune(const ClusterFlags& flags, const StudyWorkload& opened)
      : job_(flags), opened_(opened), workload_(*opened.workload, false) {}

  // The study of the kind of machine that the tasks run on. Where the store has none of this
  // question, a first trial at this setting shows which kind that is.
  std::unique_ptr<store::Writer> open(store::Store& store, const trial::StudyKey& study_key,
                                      const trial::Setting& first, bool fresh);
  // DeviceLost where it ran on another kind: unlike machines are never mixed in one curve.
  trial::Trial run(const trial::Setting& setting, const std::atomic<int>& stop);
  // What can be asked of it here.
  workload::Workload& workload() { return workload_; }

 private:
  cluster::TaskTrial run_task(const trial::Setting& setting, const std::atomic<int>& stop);

  ClusterJob job_;
  const StudyWorkload& opened_;
  workload::OneAtATime workload_;
  std::string key_;  // of the question on that kind of machine
};

}  // namespace sweetspot::cli
