#include <fmt/format.h>

#include <limits>

#include "report/end_points.h"
#include "report/paper/judgement.h"
#include "stats/independent.h"

namespace sweetspot::report::paper {
namespace {

// Of the largest batch less the smallest's; no verdict without two seeds of each.
Claim compare_ends(Claim claim, const std::vector<EndPointRow>& rows,
                   std::vector<double> EndPointRow::*of, const char* what) {
  if (rows.size() < 2) return claim.evidence = "it takes two batches with --sharpness", claim;
  const EndPointRow &small = rows.front(), &large = rows.back();
  const auto few = stats::independent_mean(small.*of), many = stats::independent_mean(large.*of);
  claim.evidence = fmt::format("{} {} at batch {} and {} at batch {}", what, mean_words(small.*of),
                               small.setting.batch, mean_words(large.*of), large.setting.batch);
  if (!few || !many) {
    claim.evidence += "; it takes two seeds to tell (--seeds 3)";
    return claim;
  }
  claim.verdict = between(difference(*many, *few), std::numeric_limits<double>::min(),
                          std::numeric_limits<double>::infinity());
  return claim;
}

}  // namespace

std::vector<Claim> sharp_minima(const Device& device) {
  const std::vector<EndPointRow> rows = end_point_rows(device.trials);
  if (rows.empty()) return {};
  return {compare_ends({.id = "sharper-minima",
                        .says = "Larger batches end in sharper minima",
                        .source = "not in the paper; Keskar et al. 2017"},
                       rows, &EndPointRow::sharpness, "the largest eigenvalue is"),
          compare_ends({.id = "wider-gap",
                        .says = "and generalise worse: the test loss is further above the training "
                                "loss",
                        .source = "not in the paper; Keskar et al. 2017"},
                       rows, &EndPointRow::gap, "the gap is")};
}

}  // namespace sweetspot::report::paper
