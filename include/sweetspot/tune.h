#pragma once
#include <sweetspot/error.h>
#include <sweetspot/options.h>
#include <sweetspot/result.h>

#include <cstdint>
#include <functional>

namespace sweetspot {

// Runs `steps` weight updates, of `batch` samples each, and returns when they are done: where a
// device works behind the program's back, synchronise with it first, or the time is wrong. `steps`
// is 1 at first and grows until a call takes a millisecond, so that the timing costs nothing.
//
// What it throws is the outcome of the trial, and the study goes on with other batches:
// std::bad_alloc, or a message that tells of a lack of memory, is out_of_memory; all else crashed.
using Run = std::function<void(int batch, int steps)>;

// The callback with what else it may tell. All but `run` may be left empty.
struct Hooks {
  Run run;
  // Before the first step of a trial, not timed: make the model and the buffers for this batch.
  // Throws like `run`.
  std::function<void(int batch)> prepare;
  // After the last step of each trial whose prepare() returned, however it ended: let go of them.
  // What it throws is thrown by tune().
  std::function<void()> finish;
  // The most memory that this trial has taken so far (or, failing that, takes now), of whichever
  // device is short of it. Asked after prepare() and after the last step.
  std::function<std::uint64_t()> memory_bytes;
  // How long the last call of `run` waited for data.
  std::function<Seconds()> data_wait;
};

// Finds the batch size by measuring, and says why. All calls come from the calling thread, one
// after the other. One study at a time in a process, since two would disturb each other: a second
// one that is begun meanwhile throws InputError. Throws InputError for options that cannot be used
// and Error for a store that cannot be opened; that no batch can be trained is a Status.
Result tune(const Options& options, const Run& run);
Result tune(const Options& options, const Hooks& hooks);

}  // namespace sweetspot
