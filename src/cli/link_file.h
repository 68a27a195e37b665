#pragma once
#include <optional>
#include <string>

#include "stats/link.h"

namespace sweetspot::cli {

// The link in what `sweetspot link --json` wrote; nothing where none fitted.
std::optional<stats::Link> read_link(const std::string& json);

}  // namespace sweetspot::cli
