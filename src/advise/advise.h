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
std::string_view name(Bottleneck);  // "step_overhead", …
std::string_view words(Bottleneck); // "step overhead", …

// What this machine can do, measured by `doctor`; what is unknown stays out of the diagnosis.
struct Roofline {
  std::optional<double> flops_per_second, bytes_per_second;
};
// What one sample costs in arithmetic and, at least, in memory traffic.
struct SampleCost {
  std::optional<double> flops, bytes;
};

struct Facts {
  search::Limits limits;
  Roofline roofline;
  SampleCost cost;
  std::optional<core::Bytes> largest_batch_bytes;
  std::optional<std::int64_t> largest_fitting;
};

// What limits this batch, from its phases, the fitted fixed cost of a step and the roofline.
std::optional<Bottleneck> bottleneck(const trial::Trial& trial, std::span<const trial::Trial> all, const Facts& facts);

// Workers and prefetch that would hide loading at a batch, by the phases measured there; nothing
// when loading is no bottleneck.
struct LoaderAdvice {
  int workers = 1, prefetch = 2;
  double hidden_share = 0;   // of the step's time that the waiting takes now
};
std::optional<LoaderAdvice> loader_advice(const trial::Trial& trial);

struct Recommendation {
  trial::Setting setting;
  double samples_per_second = 0;
  double throughput_share = 0;                 // of the best feasible one
  std::optional<core::Bytes> memory_bytes;
  std::optional<Bottleneck> limited_by;
  std::vector<std::string> reasons;            // sentences that quote the numbers
  std::string sentence;                        // the one to act on
};
std::optional<Recommendation> recommend(std::span<const trial::Trial> trials, const search::Choice& choice, const Facts& facts);

}  // namespace sweetspot::advise
