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
#include "workload/workload.h"

namespace sweetspot::cli {

// The script that would be submitted for this many tasks.
std::string cluster_script(const ClusterFlags& flags, std::size_t tasks);

// A folder for the job's files in the current one, which all nodes are assumed to share, and the
// scheduler. Removed with it, unless it is kept for its logs.
class ClusterJob {
 public:
  ClusterJob(const ClusterFlags& flags, const StudyFlags& study);
  ~ClusterJob();
  ClusterJob(const ClusterJob&) = delete;
  ClusterJob& operator=(const ClusterJob&) = delete;

  // `store`: the one of the command; tasks use it if it is on a server.
  cluster::ClusterRun run(store::Store& store) const;
  const std::filesystem::path& folder() const { return folder_; }
  void keep_folder() { keeps_folder_ = true; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<cluster::Scheduler> scheduler_;
  bool store_is_shared_;
  bool keeps_folder_ = false;
};

// The newest study of this key on any kind of machine, which is part of the key.
std::optional<trial::Study> newest_anywhere(const store::Store& store,
                                            const trial::StudyKey& study_key);

// What this process does as a task: one trial, at the setting of its number, left in the store, if
// that is on a server, else in the job's folder. A trial that could not end before the job is cut
// short in time to be kept. `epochs`: of a training; else 0. The caller counts signals.
int run_cluster_task(const ClusterTask& task, const StudyFlags& flags, const StudyWorkload& opened,
                     const trial::StudyKey& study_key, sweep::SweepOptions options, int epochs);

struct ClusterSweep {
  study::Result result;               // of the kind of machines that measured most
  std::optional<trial::Study> study;  // theirs, without trials; nullopt if nothing was measured
  std::string note;                   // about other kinds of machines, and about what is missing
};

// Runs what is missing of a sweep in a study, which is nothing, and concludes it.
using Conclude = std::function<study::Result(store::Writer&)>;

// The points of a sweep as tasks of a cluster, minus what the store has. Trials of different
// machines go into separate studies.
ClusterSweep sweep_on_cluster(const ClusterFlags& cluster, const StudyFlags& flags,
                              const StudyWorkload& opened, const trial::StudyKey& study_key,
                              const sweep::SweepOptions& options, store::Store& store,
                              const Conclude& conclude);

// A workload whose trials run on other machines, whose memory is not known here, and whose settings
// therefore cannot be interleaved.
class WorkloadOfTasks final : public workload::Workload {
 public:
  explicit WorkloadOfTasks(workload::Workload& described) : described_(described) {}
  std::string name() const override { return described_.name(); }
  std::string device() const override { return described_.device(); }
  workload::About about() const override { return described_.about(); }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    return described_.open(setting);
  }

 private:
  workload::Workload& described_;
};

// The trials of a search as tasks of a cluster, one after the other: the next choice depends on the
// earlier ones.
class ClusterTune {
 public:
  ClusterTune(const ClusterFlags& flags, const StudyFlags& study, const StudyWorkload& opened,
              store::Store& store)
      : job_(flags, study), store_(store), opened_(opened), workload_(*opened.workload) {}

  // The study of the kind of machine that the tasks run on. If the store has none with this key, a
  // first trial at this setting shows which kind that is.
  std::unique_ptr<store::Writer> open(const trial::StudyKey& study_key, const trial::Setting& first,
                                      bool fresh);
  // DeviceLost if it ran on another kind: different machines are never mixed in one curve.
  trial::Trial run(const trial::Setting& setting, const std::atomic<int>& stop);
  // What is known of it here.
  workload::Workload& workload() { return workload_; }

 private:
  cluster::TaskTrial run_task(const trial::Setting& setting, const std::atomic<int>& stop);

  ClusterJob job_;
  store::Store& store_;
  const StudyWorkload& opened_;
  WorkloadOfTasks workload_;
  std::string key_;  // of the study on that kind of machine
};

}  // namespace sweetspot::cli
