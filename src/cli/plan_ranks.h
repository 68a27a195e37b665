#pragma once
#include <optional>
#include <string>

#include "advise/advise.h"
#include "advise/rank_plan.h"
#include "cli/flags/study_flags.h"

namespace CLI {
class App;
}

namespace sweetspot::cli {

// The effect of more ranks, predicted from a tune's answer.
struct PlanFlags {
  std::string ranks;                     // "1..4096"; empty: not requested
  std::optional<collective::Link> link;  // given; else measured between processes of this machine
  std::optional<core::Bytes> gradient_bytes;
};
void add_plan_flags(CLI::App& app, PlanFlags& flags);

// InputError, before anything is measured, if the prediction would lack something.
void check_plan(const PlanFlags& flags, const StudyFlags& study);
advise::RankPlan plan_of(const PlanFlags& flags, const StudyFlags& study,
                         const advise::Recommendation& made, std::span<const trial::Trial> trials,
                         std::optional<std::int64_t> samples);

// "400Gb/s,2us": bits or bytes a second, and the latency of a message.
collective::Link parse_link(const std::string& text);

}  // namespace sweetspot::cli
