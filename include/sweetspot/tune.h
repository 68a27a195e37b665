#pragma once
#include <sweetspot/error.h>
#include <sweetspot/options.h>
#include <sweetspot/result.h>

#include <cstdint>
#include <functional>

namespace sweetspot {

// Runs `steps` weight updates of `batch` samples each, and returns when they are done: if a device
// works asynchronously, synchronise with it first, or the time is wrong. `steps` is 1 at first and
// grows until a call takes a millisecond, so that the timing costs nothing.
//
// An exception is the outcome of the trial, and the study continues with other batches:
// std::bad_alloc, or a message about a lack of memory, is out_of_memory; anything else is crashed.
using Run = std::function<void(int batch, int steps)>;

// The callback with optional hooks. Only `run` is required.
struct Hooks {
  Run run;
  // Before the first step of a trial, not timed: create the model and the buffers for this batch.
  // May throw like `run`.
  std::function<void(int batch)> prepare;
  // After the last step of each trial whose prepare() returned, however it ended: release them. An
  // exception leaves tune().
  std::function<void()> finish;
  // The peak memory of this trial so far (or else the current memory), of the device that limits
  // the batch. Called after prepare() and after the last step.
  std::function<std::uint64_t()> memory_bytes;
  // How long the last call of `run` waited for data.
  std::function<Seconds()> data_wait;
};

// Finds the batch size by measuring, and explains it. All calls come from the calling thread, one
// after the other. One study at a time per process, since two would disturb each other: a second
// concurrent one throws InputError. Throws InputError for invalid options and Error for a store
// that cannot be opened; if no batch can be trained, the result's Status says so.
Result tune(const Options& options, const Run& run);
Result tune(const Options& options, const Hooks& hooks);

}  // namespace sweetspot
