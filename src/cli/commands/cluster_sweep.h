#pragma once
#include <functional>
#include <optional>
#include <string>

#include "cli/flags/cluster_flags.h"
#include "cli/study_workload.h"
#include "sweep/sweep.h"

namespace sweetspot::cli {

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
                              const StudyWorkload& opened, const trial::Question& question,
                              const sweep::SweepOptions& options, store::Store& store,
                              const Conclude& conclude);

}  // namespace sweetspot::cli
