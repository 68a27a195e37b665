#pragma once
#include <sweetspot/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace sweetspot {

enum class Objective {
  throughput,  // the smallest batch that is about as fast as any
  max_batch    // the largest that fits
};

// What a display may show; `trial` only when it is finished.
struct Progress {
  enum class State { started, warming_up, sampling, finished };
  State state = State::started;
  int batch = 0;
  std::int64_t steps = 0;
  std::optional<Interval> samples_per_second;
  const Trial* trial = nullptr;
};

// Everything has a default that suits most; InputError names what cannot be used.
struct Options {
  std::string name = "callback";  // of the workload: in the results, and what a store knows it by
  Objective objective = Objective::throughput;

  // What may be tried. Set `max` to the number of samples in your data set.
  int min = 1, max = 1 << 30, multiple_of = 1;

  double tolerance = 0.05;        // of the best throughput that a smaller batch may give up
  double precision = 0.02;        // half-width of the 95% interval to measure a throughput to
  int repeats = 3;                // passes over the batches that matter, every other one reversed
  Seconds trial_time{3};          // warm-up and sampling, at most so long each
  std::optional<Seconds> budget;  // answers with what is known after so long

  // The most memory a trial may take, by Hooks::memory_bytes; without that hook, by the resident
  // memory of this process, which moreover is kept from taking more than the share of what is
  // free. A batch predicted to take more is never run.
  std::optional<std::uint64_t> memory_limit_bytes;
  double memory_share = 0.9;

  // A database file that keeps every trial: a study that was stopped goes on when the same is asked
  // again, and `sweetspot studies` shows it. Empty: nothing is kept.
  std::string store;
  bool fresh = false;  // measures anew what the store knows already

  // When asked to stop, tune() returns after the call to the callback that is under way, with what
  // is known. Any thread may ask, and so may the callback.
  std::stop_token stop;
  // Called by the thread that called tune(), between two steps, about ten times a second. What it
  // throws ends the study and is thrown by tune().
  std::function<void(const Progress&)> progress;
};

}  // namespace sweetspot
