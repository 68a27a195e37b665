#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// For users: A and B, the table by batch, the knees, the differences, the verdict.
std::string text(const Comparison& comparison);
// The same as markdown, the verdict first.
std::string markdown(const Comparison& comparison);
constexpr int schema_version = 1;
// One object, schema_version first.
nlohmann::ordered_json json(const Comparison& comparison);
// One self-contained page without scripts, with the chart of both.
std::string html(const Comparison& comparison);

}  // namespace sweetspot::report::compare
