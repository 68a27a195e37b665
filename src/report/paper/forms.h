#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/paper/claims.h"
#include "report/paper/experiment.h"

namespace sweetspot::report::paper {

// The verdicts and the tables, for a terminal and for pasting.
std::string text(const Experiment& experiment, const std::vector<Claim>& claims);
std::string markdown(const Experiment& experiment, const std::vector<Claim>& claims);
// One file that needs nothing else and no scripts: verdicts, the paper's figures with this
// machine's numbers beside its words, every number in tables.
std::string html(const Experiment& experiment, const std::vector<Claim>& claims);
// The object of `--json`, schema_version first.
nlohmann::ordered_json json(const Experiment& experiment, const std::vector<Claim>& claims);

// How it was done, a sentence each: what was trained, in which order, and how quiet the machine
// was.
std::vector<std::string> method(const Experiment& experiment);

}  // namespace sweetspot::report::paper
