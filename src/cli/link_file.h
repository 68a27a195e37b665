#pragma once
#include <optional>
#include <string>

#include "collective/all_reduce_time.h"

namespace sweetspot::cli {

// What `sweetspot link --json` wrote: the link if one fits, the time to sum all gradients of a step
// if --gradients was given, and step times if --batch was given.
struct LinkFile {
  std::optional<collective::Link> link;
  std::optional<double> gradients_seconds;
  struct Steps {
    double together_seconds = 0, alone_seconds = 0, apart_seconds = 0;
  };
  std::optional<Steps> steps;
};
LinkFile read_link(const std::string& json);

}  // namespace sweetspot::cli
