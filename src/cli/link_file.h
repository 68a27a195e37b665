#pragma once
#include <optional>
#include <string>

#include "stats/link.h"

namespace sweetspot::cli {

// What `sweetspot link --json` wrote: the link, where one fitted; how long all gradients of a step
// take to be summed, where they were given; and the times of steps, where a batch was.
struct LinkFile {
  std::optional<stats::Link> link;
  std::optional<double> gradients_seconds;
  struct Steps {
    double together_seconds = 0, alone_seconds = 0, apart_seconds = 0;
  };
  std::optional<Steps> steps;
};
LinkFile read_link(const std::string& json);

}  // namespace sweetspot::cli
