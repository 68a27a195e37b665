#pragma once
#include <optional>
#include <string>

#include "stats/link.h"

namespace sweetspot::cli {

// What `sweetspot link --json` wrote: the link, where one fitted, and how long all gradients of a
// step take to be summed, where they were given.
struct LinkFile {
  std::optional<stats::Link> link;
  std::optional<double> gradients_seconds;
};
LinkFile read_link(const std::string& json);

}  // namespace sweetspot::cli
