#pragma once
#include <string>
#include <vector>

#include "search/search.h"
#include "trial/study.h"
#include "workload/native/train.h"

namespace sweetspot::study {

// What is asked of a workload, as it was asked: what depends on the moment, such as the memory that
// happens to be free, is left out, or no study would ever be resumed.
struct Terms {
  std::string kind;  // "tune" or "sweep"
  std::string name;  // that the user gave the study: another one, another study; may be empty
  search::Limits limits;
  // Where limits.memory_limit is of whatever device it runs on, these are of the one named.
  std::optional<core::Bytes> host_memory_limit, gpu_memory_limit;
  std::optional<double> memory_share;
  double precision = 0.02;
  std::vector<std::int64_t> batches, accumulations, workers;  // of a sweep
  std::vector<std::string> precisions;                        // of either
  std::vector<double> power_limits;                           // likewise; empty: as they are set
  std::optional<std::int64_t> epochs;                         // of trials that train, the last one
  std::string towards;     // of trials that train to a target: what is searched and how, as JSON
  bool sharpness = false;  // of each end point, of such trials
  // Of branches: their samples, and what else their losses depend on.
  std::optional<std::int64_t> branch_samples;
  std::string learning_rate_rule, weights_file;
  int repeat = 1;
  int threads = 1;
  std::string program_major;  // a new major version measures anew
};

// What tells this run's workload from another, as JSON: model, data and options, and whether its
// trials train or only time steps.
std::string identity(const workload::native::Run& run, bool trains);

// The question with its key: the same for the same workload, terms and machine.
trial::StudyKey study_key(const std::string& title, const std::string& identity_json,
                          const Terms& terms);

}  // namespace sweetspot::study
