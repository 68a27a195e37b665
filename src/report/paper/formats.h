#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/paper/experiment.h"
#include "report/paper/paper_claims.h"

namespace sweetspot::report::paper {

// The verdicts and the tables, for a terminal and for pasting.
std::string text(const Experiment& experiment, const std::vector<Claim>& claims);
std::string markdown(const Experiment& experiment, const std::vector<Claim>& claims);
// One self-contained file without scripts: verdicts, the paper's figures with this machine's
// numbers next to its text, every number in tables.
std::string html(const Experiment& experiment, const std::vector<Claim>& claims);
// The object of `--json`, schema_version first.
nlohmann::ordered_json json(const Experiment& experiment, const std::vector<Claim>& claims);

// The method, one sentence each: what was trained, in which order, and the contention.
std::vector<std::string> method(const Experiment& experiment);

}  // namespace sweetspot::report::paper
