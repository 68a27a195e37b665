#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workload/command/output/progress_bars.h"

namespace sweetspot::workload::command::output {

// What a word says about the adjacent number, or about its line.
enum class Role : std::uint8_t {
  none,
  update,       // step, iter, batch, …: the number counts updates
  sample,       // images, examples, …
  epoch,        //
  position,     // "step number 20", "batch_idx 20", "samples seen 640": the previous word counts
  spoiler,      // "steps per epoch", "max steps", "best step": what follows is not a counter
  training,     //
  evaluation,   // validation, tests, predictions
  preparation,  // downloads, caches, tokens: what precedes the training
  saving,       // checkpoints
  time,         //
  process,      // "rank 1": of several that print the same
  environment,  // "episode 3": of reinforcement learning, whose steps are not updates
};

// For one word, letters only, in any case, in the most common languages of logs.
Role role_of(std::string_view word);

// The end of the word that begins at `at`, in letters of any of their scripts; `at` for no word.
std::size_t word_end(std::string_view text, std::size_t at);
// Whether it is written without spaces and without a plural, as Chinese is.
bool is_without_spaces(std::string_view word);

// What a bar counts by the name of its unit: "it" and "batches" are updates, "img" and "examples"
// samples; bytes, files and epochs are not steps.
Counts counts_of(std::string_view unit);

}  // namespace sweetspot::workload::command::output
