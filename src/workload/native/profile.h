#pragma once
#include <atomic>
#include <optional>
#include <vector>

#include "workload/native/operation_work.h"
#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// One profiled step, in seconds since the profile began.
struct ProfiledStep {
  double start = 0;
  double seconds = 0;
  double data_wait = 0;
  engine::StepProfile parts;
};

// Where a step's time goes at one setting.
struct Profile {
  trial::Setting setting;
  std::int64_t plain_steps = 0;
  double step_seconds = 0;          // a mean plain step's
  trial::PhaseSeconds phases{};     // of it
  std::vector<ProfiledStep> steps;  // timed per operation, and slower by the clock reads
  std::vector<Work> work;           // lower bound of their operations' work
  int ranks = 1;                    // that made the steps together: the times are this one's
  bool on_gpu = false;    // the operations are launched one by one, with an event between them
  bool in_graph = false;  // the plain steps are launched as graphs
};

struct ProfileOptions {
  std::optional<std::int64_t> steps;  // else as many as fit in `time`
  core::Seconds time{0.5};            // of plain steps, and again of profiled ones
};

// The same answer on every rank: the first rank's wish; without ranks one's own.
bool as_first_rank_says(const RankOptions& ranks, bool wish);

// Warms up, runs plain steps for the phases and then profiled ones for the operations. A stop other
// than 0 ends it after the current step, with what there is. Every rank calls it.
Profile profile(const Run& run, const trial::Setting& setting, const ProfileOptions& options,
                const std::atomic<int>& stop);

// Only the operations, as a profile without plain steps: for a reason next to an answer.
Profile profile_operations(const Run& run, const trial::Setting& setting, core::Seconds time);

// One operation in a mean profiled step: the time of one thread, averaged over them.
struct OperationTime {
  std::string name, implementation;
  double forward_seconds = 0, backward_seconds = 0, update_seconds = 0;
  Work work{};  // its lower bound
  double seconds() const { return forward_seconds + backward_seconds + update_seconds; }
};
// Those of the profile in the plan's order, and last the time a CPU's threads waited for each
// other.
std::vector<OperationTime> operation_times(const Profile& profile);
// In a mean profiled step, the time this rank waited for the others' gradients; nullopt without
// ranks.
std::optional<double> reduction_wait_seconds(const Profile& profile);
trial::OperationCost cost_of(const OperationTime& operation);

}  // namespace sweetspot::workload::native
