#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/paper/experiment.h"

namespace sweetspot::report::paper {

// `undecided`: the interval reaches to both sides of what the claim says.
enum class Verdict { holds, does_not_hold, undecided, not_tested };
std::string_view name(Verdict verdict);   // "does_not_hold"
std::string_view words(Verdict verdict);  // "does not hold"

// One claim of the paper, held against this machine's numbers.
struct Claim {
  std::string id{};      // "gpu-until-800"
  std::string says{};    // the claim
  std::string source{};  // where the paper says it
  Verdict verdict = Verdict::not_tested;
  std::string evidence{};  // what was measured, with intervals; or why nothing was
  // Where it does not hold only because the engine has removed the overhead behind it: the proof.
  std::string overhead{};
};

// Every claim, in the paper's order. Pure: the trials decide.
std::vector<Claim> judge(const Experiment& experiment);

// PyTorch eager on one H200 takes 2.0 to 2.4 ms for a step of this network at every batch from 1 to
// 1000: the launches, not the work.
constexpr double eager_step_seconds = 2.2e-3;

}  // namespace sweetspot::report::paper
