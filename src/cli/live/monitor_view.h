#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/snapshot.h"

namespace sweetspot::cli {

struct View {
  std::size_t width = 80;
  bool colour = false, utf8 = true;
};

// For a terminal: a block for the host and one for each GPU, no line wider than the view.
std::vector<std::string> monitor_block(const Snapshot& snapshot, const View& view);
// For a file or a pipe: a line for the host and one for each GPU.
std::string monitor_lines(const Snapshot& snapshot);
nlohmann::ordered_json monitor_json(const Snapshot& snapshot);

}  // namespace sweetspot::cli
