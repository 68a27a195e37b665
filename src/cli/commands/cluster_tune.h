#pragma once
#include <memory>
#include <string>

#include "cli/commands/cluster_job.h"
#include "workload/one_at_a_time.h"

namespace sweetspot::cli {

// The trials of a search as tasks of a cluster, one after the other: what is tried next depends on
// the ones before.
class ClusterTune {
 public:
  ClusterTune(const ClusterFlags& flags, const StudyWorkload& opened)
      : job_(flags), opened_(opened), workload_(*opened.workload, false) {}

  // The study of the kind of machine that the tasks run on. Where the store has none of this
  // question, a first trial at this setting shows which kind that is.
  std::unique_ptr<store::Writer> open(store::Store& store, const trial::Question& question,
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
