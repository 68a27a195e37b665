#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"

namespace sweetspot::workload {

// A peak over the steps of a run: its history, and its extrapolation.
class MemoryGrowth {
 public:
  void add(double at_seconds, core::Bytes peak);
  // What the peak may still grow by in an hour. A peak that keeps rising, as over inputs of varying
  // length, rises by as much from a third of the time to all of it as over every following
  // tripling. nullopt before there is enough data.
  std::optional<core::Bytes> margin() const;
  // Whether it has risen noticeably once allocators had filled their caches.
  bool rises() const { return jumps() > 0; }
  // Whether it did repeatedly.
  bool rises_in_jumps() const;
  static constexpr double telling_seconds = 2;  // less says nothing about an hour

 private:
  struct Point {
    double at_seconds = 0;
    core::Bytes peak = 0;
    std::int64_t number = 0;  // among all
  };
  core::Bytes peak_at(double at_seconds) const;
  bool is_short() const;
  double begin() const;
  int jumps() const;  // noticeable ones, after the first points

  std::vector<Point> rises_;  // when there was a new one
  std::int64_t count_ = 0;
  double first_ = 0, last_ = 0;
};

}  // namespace sweetspot::workload
