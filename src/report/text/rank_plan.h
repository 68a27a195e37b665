#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "advise/rank_plan.h"
#include "report/charts/plot.h"

namespace sweetspot::report {

// A prediction for numbers of ranks, with its assumptions: as table and curve, or as JSON.
std::string rank_plan_text(const advise::RankPlan& plan, const PlotOptions& options);
nlohmann::ordered_json rank_plan_json(const advise::RankPlan& plan);

}  // namespace sweetspot::report
