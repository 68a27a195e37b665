#include "report/compare/compare.h"

#include <algorithm>
#include <map>

#include "report/compare/differences.h"
#include "report/compare/sentence.h"
#include "report/fastest.h"
#include "stats/ratio.h"

namespace sweetspot::report::compare {
namespace {

std::vector<stats::Interval> speeds(const std::vector<const trial::Trial*>& trials) {
  std::vector<stats::Interval> list;
  for (const trial::Trial* trial : trials) {
    const trial::Interval& speed = *trial->samples_per_second;
    list.push_back({speed.mean, speed.low, speed.high});
  }
  return list;
}

std::optional<core::Bytes> most_memory(const std::vector<const trial::Trial*>& trials) {
  std::optional<core::Bytes> most;
  for (const trial::Trial* trial : trials)
    if (trial->memory_measured) most = std::max(most.value_or(0), *trial->memory_measured);
  return most;
}

struct Curve {
  std::map<std::int64_t, Point> points;
  bool repeated = false;
};

Curve curve(const trial::Study& study) {
  const TrialsOfBatch fastest = fastest_by_batch(study.trials);
  std::vector<std::vector<stats::Interval>> groups;
  for (const auto& [batch, trials] : fastest) groups.push_back(speeds(trials));
  const std::optional<stats::Spread> between = stats::spread(groups);
  Curve made;
  made.repeated = between.has_value();
  for (const auto& [batch, trials] : fastest) {
    Point& point = made.points[batch];
    point.trials = trials.size();
    point.memory = most_memory(trials);
    if (const auto speed = stats::combined(speeds(trials), between))
      point.samples_per_second = {speed->mean, speed->low, speed->high};
  }
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

Line line(std::int64_t batch, const Curve& a, const Curve& b) {
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

// By the points that are shown, so that words and table agree.
std::optional<Measured> measured_of(const Curve& curve) {
  std::map<std::int64_t, double> speeds;
  for (const auto& [batch, point] : curve.points)
    if (point.samples_per_second) speeds[batch] = point.samples_per_second->mean;
  return measured(speeds, advise::Facts().limits.tolerance);
}

std::optional<trial::Interval> best_of(const Curve& curve, const std::optional<Measured>& found) {
  if (!found) return std::nullopt;
  const auto point = curve.points.find(found->best_batch);
  return point == curve.points.end() ? std::nullopt : point->second.samples_per_second;
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
  const Curve of_a = curve(a.study), of_b = curve(b.study);
  Comparison made;
  made.a_name = a.name, made.b_name = b.name;
  std::map<std::int64_t, bool> batches;
  for (const Curve* side : {&of_a, &of_b})
    for (const auto& [batch, point] : side->points) batches[batch] = true;
  for (const auto& [batch, there] : batches) made.lines.push_back(line(batch, of_a, of_b));
  made.a = measured_of(of_a), made.b = measured_of(of_b);
  made.best_ratio = over(best_of(of_b, made.b), best_of(of_a, made.a));
  made.verdict = judged(made.best_ratio);
  made.differences = differences(a.study, b.study);
  made.repeated = of_a.repeated && of_b.repeated;
  made.sentence = sentence(made);
  return made;
}

}  // namespace sweetspot::report::compare
