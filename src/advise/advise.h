#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/search.h"
#include "trial/trial.h"

namespace sweetspot::advise {

enum class Bottleneck { step_overhead, data_loading, compute, memory_bandwidth, memory_capacity };
std::string_view name(Bottleneck);   // "step_overhead", …
std::string_view words(Bottleneck);  // "step overhead", …

// What this machine can do, measured by `doctor`; what is unknown stays out of the diagnosis.
struct Roofline {
  std::optional<double> flops_per_second, bytes_per_second;
};
// What one sample costs in arithmetic and, at least, in memory traffic.
struct SampleCost {
  std::optional<double> flops, bytes;
};

// The loader advice at the chosen batch, followed in a trial of its own.
struct LoaderCheck {
  int workers = 1, prefetch = 2;
  double samples_per_second_before = 0;
  std::optional<double> samples_per_second;  // nothing when that trial failed
  std::optional<double> data_wait_share;
  std::optional<core::Bytes> memory_bytes;
};
bool check_helped(const LoaderCheck& check);  // by enough to recommend it

// Loader workers that were tried, and the fewest that are about as fast as any.
struct WorkerSearch {
  struct Tried {
    std::int64_t batch = 1;
    int workers = 1;
    double samples_per_second = 0;
  };
  int workers = 1;
  std::vector<Tried> tried;
};

struct Facts {
  search::Limits limits;
  Roofline roofline;
  SampleCost cost;
  std::optional<core::Bytes> largest_batch_bytes;
  std::optional<std::int64_t> largest_fitting;
  bool has_loader = true;  // whose workers can be chosen
  std::optional<LoaderCheck> loader_check;
  std::optional<WorkerSearch> worker_search;
  std::optional<std::int64_t> global_batch;  // given; the sizes of the trials are micro-batches
  std::string cut_short;                     // why the search could not end by itself, or empty
};

// The straight line through the step times: what a step costs whatever its batch, and each sample.
// Time spent waiting for data is left out: it has a name of its own.
struct StepCost {
  double fixed_seconds = 0, per_sample_seconds = 0;
  double fixed_share(std::int64_t batch) const;
};
std::optional<StepCost> step_cost(std::span<const trial::Trial> trials);
std::optional<StepCost> step_cost_of(std::span<const trial::Trial* const> trials);

// Of what the machine can do at most, how much this throughput uses; what is unknown stays out.
struct RooflineShare {
  std::optional<double> flops, bytes;
};
RooflineShare roofline_share(double samples_per_second, const Facts& facts);

// Of a mean step's time, in [0, 1]; nothing where the phases are unknown.
std::optional<double> data_wait_share(const trial::Trial& trial);

// What limits this batch, from its phases, the fitted fixed cost of a step and the roofline.
std::optional<Bottleneck> bottleneck(const trial::Trial& trial, std::span<const trial::Trial> all,
                                     const Facts& facts);
// The same of each trial, in their order, without looking at all of them for each.
std::vector<std::optional<Bottleneck>> bottlenecks(std::span<const trial::Trial> trials,
                                                   const Facts& facts);

// Workers and prefetch that would hide loading at a batch, by the phases measured there; nothing
// when loading is no bottleneck.
struct LoaderAdvice {
  int workers = 1, prefetch = 2;
  double hidden_share = 0;  // of the step's time that the waiting takes now
};
std::optional<LoaderAdvice> loader_advice(const trial::Trial& trial);

// What is said of an answer that rests on contended trials only.
constexpr std::string_view measured_while_busy = "measured while the machine was busy";

struct Recommendation {
  trial::Setting setting;
  double samples_per_second = 0;
  bool fitted = false;          // it is of the curve through all trials, not of one of them
  double throughput_share = 0;  // of the best feasible one
  std::optional<core::Bytes> memory_bytes;
  std::optional<Bottleneck> limited_by;
  bool contended = false;            // a speed that it quotes is known from contended trials only
  std::vector<std::string> reasons;  // sentences that quote the numbers
  std::string sentence;              // the one to act on
};
std::optional<Recommendation> recommend(std::span<const trial::Trial> trials,
                                        const search::Choice& choice, const Facts& facts);

}  // namespace sweetspot::advise
