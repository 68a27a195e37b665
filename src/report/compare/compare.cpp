#include "report/compare/compare.h"

#include <algorithm>
#include <map>

#include "report/compare/differences.h"
#include "report/compare/sentence.h"
#include "report/stored.h"
#include "stats/ratio.h"

namespace sweetspot::report::compare {
namespace {

std::optional<core::Bytes> most_memory(const std::vector<const trial::Trial*>& trials) {
  std::optional<core::Bytes> most;
  for (const trial::Trial* trial : trials)
    if (trial->memory_measured) most = std::max(most.value_or(0), *trial->memory_measured);
  return most;
}

struct Known {
  std::map<std::int64_t, Point> points;
  std::optional<Measured> measured;
  bool repeated = false;
};

Known known_of(const trial::Study& study) {
  const Answer answer = answer_of(study);
  const std::vector<BatchSpeed> all = speeds(answer);
  Known made;
  for (const BatchSpeed& speed : all) {
    made.points[speed.batch] = {speed.samples_per_second, most_memory(speed.trials),
                                speed.trials.size()};
    made.repeated = made.repeated || speed.trials.size() > 1;
  }
  made.measured = measured(answer);
  return made;
}

std::optional<trial::Interval> over(const std::optional<trial::Interval>& b,
                                    const std::optional<trial::Interval>& a) {
  if (!a || !b) return std::nullopt;
  const auto found = stats::ratio({b->mean, b->low, b->high}, {a->mean, a->low, a->high});
  if (!found) return std::nullopt;
  return trial::Interval{found->mean, found->low, found->high};
}

std::optional<Verdict> judged(const std::optional<trial::Interval>& ratio) {
  if (!ratio) return std::nullopt;
  if (ratio->low > 1) return Verdict::faster;
  return ratio->high < 1 ? Verdict::slower : Verdict::no_difference;
}

Line line(std::int64_t batch, const Known& a, const Known& b) {
  Line made;
  made.batch = batch;
  if (const auto found = a.points.find(batch); found != a.points.end()) made.a = found->second;
  if (const auto found = b.points.find(batch); found != b.points.end()) made.b = found->second;
  made.speed_ratio = over(made.b.samples_per_second, made.a.samples_per_second);
  made.verdict = judged(made.speed_ratio);
  if (made.a.memory && made.b.memory && *made.a.memory > 0)
    made.memory_ratio = static_cast<double>(*made.b.memory) / static_cast<double>(*made.a.memory);
  return made;
}

std::optional<trial::Interval> best_of(const Known& known) {
  if (!known.measured) return std::nullopt;
  const auto best = known.points.find(known.measured->best_batch);
  return best == known.points.end() ? std::nullopt : best->second.samples_per_second;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::no_difference:
      return "no_difference";
  }
  return "";
}

std::string_view words(Verdict verdict) {
  return verdict == Verdict::no_difference ? "no difference shown" : name(verdict);
}

Comparison compare(const Side& a, const Side& b) {
  const Known of_a = known_of(a.study), of_b = known_of(b.study);
  Comparison made;
  made.a_name = a.name, made.b_name = b.name;
  std::map<std::int64_t, bool> batches;
  for (const Known* side : {&of_a, &of_b})
    for (const auto& [batch, point] : side->points) batches[batch] = true;
  for (const auto& [batch, there] : batches) made.lines.push_back(line(batch, of_a, of_b));
  made.a = of_a.measured, made.b = of_b.measured;
  made.best_ratio = over(best_of(of_b), best_of(of_a));
  made.verdict = judged(made.best_ratio);
  made.differences = differences(a.study, b.study);
  made.repeated = of_a.repeated && of_b.repeated;
  made.sentence = sentence(made);
  return made;
}

}  // namespace sweetspot::report::compare
