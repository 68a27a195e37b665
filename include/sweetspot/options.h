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

// The defaults suit most programs; InputError names an invalid value.
struct Options {
  std::string name = "callback";  // of the workload, in results and in a store
  Objective objective = Objective::throughput;

  // What may be tried. Set `max` to the number of samples in your data set.
  int min = 1, max = 1 << 30, multiple_of = 1;

  double tolerance = 0.05;        // share of the best throughput that a smaller batch may give up
  double precision = 0.02;        // target half-width of the 95% interval of a throughput
  int repeats = 3;                // passes over the batches that matter, every other one reversed
  Seconds trial_time{3};          // warm-up and sampling, at most this long each
  std::optional<Seconds> budget;  // answers with what is known after this time

  // The peak memory of a trial, by Hooks::memory_bytes; without that hook, by the resident memory
  // of this process, which is also limited to a share of free memory. A batch predicted to take
  // more is never run.
  std::optional<std::uint64_t> memory_limit_bytes;
  double memory_share = 0.9;

  // A database file for every trial: an interrupted study resumes when tune() is called again with
  // the same options, and `sweetspot studies` shows it. Empty: nothing is stored.
  std::string store;
  bool fresh = false;  // measures again what the store already has

  // When a stop is requested, tune() returns after the current call to the callback, with what is
  // known. Any thread, including the callback, may request it.
  std::stop_token stop;
  // Called by the thread that called tune(), between two steps, about ten times a second. An
  // exception ends the study and leaves tune().
  std::function<void(const Progress&)> progress;
};

}  // namespace sweetspot
