#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "core/buffer.h"
#include "trial/setting_fields.h"
#include "trial/study.h"
#include "trial/target.h"

namespace sweetspot::advise {

// What was asked of a study, as given: what depends on the moment, such as free memory, is
// excluded, or no study would ever be resumed.
struct Request {
  enum class Kind { tune, sweep, critical_batch, paper };
  // A target of training runs, for a tune. With more seeds or finalists the study continues.
  struct Towards {
    trial::Target target;
    bool for_energy = false;
    int most_epochs = 20;
    std::int64_t base_batch = 100;
    std::optional<convergence::LearningRateRule> rule;
  };
  // For any workload. What of the machine only some depend on is in their identity.
  struct Machine {
    std::string cpu;
    int cores = 0;
  };

  Kind kind = Kind::tune;
  std::string workload = "null";  // its identity, as JSON
  std::string name;               // given by the user; distinguishes studies; may be empty
  search::Limits limits;
  // limits.memory.limit applies to whatever device it runs on, these to the named one.
  std::optional<core::Bytes> host_memory_limit, gpu_memory_limit;
  std::optional<double> memory_share;
  double precision = 0.02;
  std::vector<std::int64_t> batches, accumulations;  // of a sweep
  trial::Tried tried;                                // what is absent is the workload's own
  std::optional<std::int64_t> epochs;                // of trials that train, the last one
  std::optional<Towards> towards;
  bool sharpness = false;  // of each end point, for trials that train
  // For branches: their samples, and what else their losses depend on.
  std::optional<std::int64_t> branch_samples;
  std::string learning_rate_rule, weights_file;
  int repeat = 1;
  std::string program_major;  // a new major version measures again
  Machine machine;
};
std::string_view name(Request::Kind kind);  // "critical-batch"

// What the last run of a study knew besides. Stored with its environment, so that a stored study
// shows as much as its command did.
struct RunFacts {
  std::optional<core::Bytes> memory_free;   // of the device, at the beginning
  std::optional<core::Bytes> memory_limit;  // what a trial may take of it
  double tolerance = experiment::noticeable_share;
  Roofline roofline;
  SampleCost cost;
  std::vector<std::pair<std::int64_t, core::MemoryByUse>> memory;  // predicted, by batch
};
std::string to_json(const RunFacts& facts);
// As by default where they are unknown.
RunFacts run_facts_in(const std::string& environment_json);
constexpr const char* run_facts_key = "facts";  // of the environment

// What may be tried in a run, and the goal.
search::Limits limits_of(const Request& request, const RunFacts& facts);

// The study key: `title` is the workload for people, and everything else is decided by the request.
trial::StudyKey study_key(const std::string& title, const Request& request);
// Of a stored study; nullopt for a key that is not ours. What is missing in it is as by default.
std::optional<Request> request_of(const trial::StudyKey& study_key);
// The title that the key was made with: "paper-cnn on mnist".
std::string title_of(const trial::StudyKey& study_key, const Request& request);

}  // namespace sweetspot::advise
