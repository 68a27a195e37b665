#include "sweep/paper.h"

namespace sweetspot::sweep {
namespace {

constexpr std::uint64_t paper_seed = 1000;

}  // namespace

PaperPlan paper_plan(bool quick, int seeds) {
  PaperPlan plan;
  if (quick)
    plan.batches = {100, 500, 1000};
  else
    for (std::int64_t batch = 100; batch <= 1000; batch += 100) plan.batches.push_back(batch);
  for (int i = 0; i < seeds; ++i) plan.seeds.push_back(paper_seed + static_cast<std::uint64_t>(i));
  return plan;
}

SweepOptions paper_sweep(const PaperPlan& plan, const trial::Setting& base) {
  SweepOptions options;
  for (const std::int64_t batch : plan.batches) {
    options.points.push_back(base);
    options.points.back().batch = batch;
  }
  options.seeds = plan.seeds;
  return options;
}

}  // namespace sweetspot::sweep
