#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "core/units.h"

namespace sweetspot::trial {

// How a setting is run, beside what it trains: what a search may vary as well.
struct Configuration {
  std::string precision = "fp32";
  int workers = 1;
  int prefetch = 2;
  std::optional<double> power_limit_watts{};  // of each GPU; nullopt: unchanged

  // With another's loader, which a search settles for each of its curves.
  Configuration with_loader_of(const Configuration& other) const {
    Configuration same = *this;
    same.workers = other.workers, same.prefetch = other.prefetch;
    return same;
  }
  auto operator<=>(const Configuration&) const = default;
};

// Whether they are one curve of a search, whatever their loaders.
inline bool is_same_variant(const Configuration& one, const Configuration& other) {
  return one.with_loader_of(other) == other;
}

// One point to try.
struct Setting {
  std::int64_t batch = 1;
  std::int64_t accumulation = 1;
  double learning_rate = 0.001;
  std::uint64_t seed = 1000;  // of weights, shuffles and dropout; the paper's
  Configuration configuration{};

  std::int64_t micro_batch() const { return batch / accumulation; }
  auto operator<=>(const Setting&) const = default;
};

// What a change of setting costs. May get worse while a workload is measured.
struct Switching {
  // Sessions of several settings may be open at the same time, over the same weights, and are idle
  // between steps: then their steps are interleaved.
  bool in_place = false;
  core::Seconds cost{0};  // as far as it was seen
};

}  // namespace sweetspot::trial
