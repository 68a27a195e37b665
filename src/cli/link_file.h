#pragma once
#include <optional>
#include <string>

#include "stats/link.h"

namespace sweetspot::cli {

// The output of `sweetspot link --json`: the link, if one fitted, and how long summing all
// gradients of a step takes, if they were given.
struct LinkFile {
  std::optional<stats::Link> link;
  std::optional<double> gradients_seconds;
};
LinkFile read_link(const std::string& json);

}  // namespace sweetspot::cli
