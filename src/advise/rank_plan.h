#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/all_reduce_time.h"
#include "core/units.h"

namespace sweetspot::advise {

// The input of a prediction for more ranks: all of it measured on one, or given.
struct RankPlanFacts {
  struct Speed {
    std::int64_t micro_batch = 1;
    double step_seconds = 0;
  };
  std::vector<Speed> speeds;  // of one rank alone
  // The extra time of a step with several before anything is sent: gradients are stored.
  double rank_seconds = 0;
  // For ranks that share one machine: with more threads than cores they take turns, and all-reduces
  // take time on the cores that compute. Nullopt: each rank has its own machine, whose network or
  // GPU moves gradients.
  struct Machine {
    int cores = 1, threads_of_rank = 1;
    // Measured in steps with this micro-batch: the step time of a rank while all are busy, relative
    // to one alone, and the additional time of all-reduces. Assumed to be the same for every batch.
    struct Steps {
      std::int64_t micro_batch = 1;
      double times_alone = 1, sums_seconds = 0;
    };
    std::map<std::int64_t, Steps> steps;  // by ranks
    // If steps cannot be measured: the time of all gradients' all-reduces by themselves, by ranks.
    std::map<std::int64_t, double> sum_seconds;
  };
  std::optional<Machine> machine;
  double backward_share = 0;  // of a step
  core::Bytes gradient_bytes = 0, bucket_bytes = core::MiB;
  collective::Link link;
  bool link_measured = false;           // else it was given
  std::optional<double> noise_scale;    // in samples
  std::optional<std::int64_t> samples;  // of the data set: no batch is larger
  double tolerance = 0.05;
};

// One number of ranks, at its best batch. All of it is a prediction.
struct RankPlanRow {
  std::int64_t ranks = 1;
  std::int64_t micro_batch = 1, global_batch = 1;
  double step_seconds = 0, exposed_seconds = 0;  // the latter waiting for gradient sums
  double samples_per_second = 0;
  double efficiency = 0;  // relative to perfect scaling of one rank with the same micro-batch
  std::optional<double> sooner;  // speed-up to the same accuracy over one rank at its best
};

struct RankPlan {
  RankPlanFacts facts;
  std::vector<RankPlanRow> rows;
};

// If the noise scale is known, the best batch has the least time to the same accuracy: updates
// scale as 1 + noise scale / batch (McCandlish et al. 2018). Otherwise it is the smallest whose
// speed is within the tolerance of the fastest.
RankPlan plan_ranks(const RankPlanFacts& facts, std::span<const std::int64_t> ranks);

// Its assumptions, one sentence each.
std::vector<std::string> assumptions(const RankPlanFacts& facts);

}  // namespace sweetspot::advise
