#pragma once
#include <string>
#include <vector>

#include "search/search.h"
#include "trial/study.h"

namespace sweetspot::study {

// The request as given: what depends on the moment, such as free memory, is excluded, or no study
// would ever be resumed.
struct Terms {
  std::string kind;  // "tune" or "sweep"
  std::string name;  // given by the user; distinguishes studies; may be empty
  search::Limits limits;
  // limits.memory.limit applies to whatever device it runs on, these to the named one.
  std::optional<core::Bytes> host_memory_limit, gpu_memory_limit;
  std::optional<double> memory_share;
  double precision = 0.02;
  std::vector<std::int64_t> batches, accumulations, workers;  // of a sweep
  std::vector<std::string> precisions;                        // of either
  std::vector<double> power_limits;                           // likewise; empty: unchanged
  std::optional<std::int64_t> epochs;                         // of trials that train, the last one
  std::string towards;     // of trials that train to a target: the search, as JSON
  bool sharpness = false;  // of each end point, for such trials
  // For branches: their samples, and what else their losses depend on.
  std::optional<std::int64_t> branch_samples;
  std::string learning_rate_rule, weights_file;
  int repeat = 1;
  int threads = 1;
  std::string program_major;  // a new major version measures again
};

// The study key: the same for the same workload, as its identity_json() names it, terms and
// machine.
trial::StudyKey study_key(const std::string& title, const std::string& identity_json,
                          const Terms& terms);

}  // namespace sweetspot::study
