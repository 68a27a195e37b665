#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sweetspot::convergence {

// A batch that might reach the target at the smallest cost: seconds, or joules.
struct RaceEntry {
  std::int64_t batch = 1;
  double predicted_cost = 0;  // from everything known except its own runs
  double least_cost = 0;      // the lower end of that prediction
};

// A finished training run.
struct RaceRun {
  std::int64_t batch = 1;
  int seed = 0;                  // its number, from 0
  std::optional<double> cost{};  // to the target; nullopt: not reached
  bool failed = false;           // out of memory, diverged: the batch is out
  bool given_up = false;         // not reached by RaceStep::most_cost
};

struct RaceRules {
  // Batches that are trained at all; nullopt: every one, with every seed, to the end.
  std::optional<int> finalists = 4;
  int seeds = 3;
  std::int64_t pilot = 1;  // the batch that is trained first
};

struct RaceStep {
  std::int64_t batch = 1;
  int seed = 0;
  std::optional<double> most_cost{};  // at which it is stopped
};

// Successive halving: the finalists run with the first seed, each next one chosen by the prediction
// from the runs so far; the better half continues with the next seed, but never fewer than two, so
// that there is something to compare with. A run at twice the cost of the best is stopped. A batch
// that fails is out, and the next one takes its place. nullopt: the race is over. A pure function
// of the runs.
std::optional<RaceStep> next_run(std::span<const RaceEntry> entries, std::span<const RaceRun> runs,
                                 const RaceRules& rules);

// The batch that ran with the most seeds, reached the target with each of them, and had the
// smallest mean cost; else the one that reached it most often. nullopt if none did.
std::optional<std::int64_t> winner(std::span<const RaceRun> runs);

}  // namespace sweetspot::convergence
