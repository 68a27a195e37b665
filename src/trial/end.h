#pragma once
#include <optional>
#include <string_view>

namespace sweetspot::trial {

// How a study ended. Those from `stopped` on cut it short: there may be an answer all the same.
enum class End {
  running,            // it has not
  found,              // a tune has its answer
  finished,           // every point of a sweep was tried, and some could be trained
  nothing_feasible,   // nothing could be trained
  batch_unconfirmed,  // nothing shows that the program uses its batch
  energy_unknown,     // it was requested, and could not be read
  not_reached,        // runs ended, and none had reached the target
  metric_missing,     // they did not even report its metric
  stopped,
  budget,
  store_failed,
  device_lost
};
std::string_view name(End);
std::optional<End> end_named(std::string_view);  // nullopt for an unknown name
bool is_cut_short(End);

// For lists of studies: "running", "finished" or "stopped", which goes on with the same command.
std::string_view state_name(End);

}  // namespace sweetspot::trial
