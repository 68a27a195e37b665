#include "report/compare/sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace sweetspot::report::compare {
namespace {

std::string count(double value) { return core::format_count(value); }
std::string count(std::int64_t value) { return count(static_cast<double>(value)); }

std::string place(const Measured& found) {
  return fmt::format("{} samples/s at batch {}", count(found.best_samples_per_second),
                     count(found.best_batch));
}

std::string best_sentence(const Comparison& c) {
  return fmt::format(
      "{}: where each is fastest B has {:.3g} times the speed of A (95% interval "
      "{:.3g} to {:.3g}), {} against {}.",
      verdict_words(c), c.best_ratio->mean, c.best_ratio->low, c.best_ratio->high, place(*c.b),
      place(*c.a));
}

}  // namespace

std::string verdict_words(const Comparison& c) {
  if (!c.a || !c.b)
    return fmt::format("Nothing was measured in {}, so the two cannot be compared",
                       !c.a && !c.b ? "either study"
                       : !c.a       ? "A"
                                    : "B");
  if (!c.verdict) return "The measurements are too uncertain to be compared";
  switch (*c.verdict) {
    case Verdict::faster:
      return "B is faster than A";
    case Verdict::slower:
      return "B is slower than A";
    case Verdict::no_difference:
      return "No difference between A and B is shown";
  }
  return "";
}

std::string batches_sentence(const Comparison& c) {
  if (!c.a || !c.b) return "";
  const auto with = [&](Verdict verdict) {
    return std::count_if(c.lines.begin(), c.lines.end(),
                         [&](const Line& line) { return line.verdict == verdict; });
  };
  const std::int64_t faster = with(Verdict::faster), slower = with(Verdict::slower),
                     same = with(Verdict::no_difference), shared = faster + slower + same;
  if (shared == 0) return "No batch was measured in both.";
  if (shared == 1)
    return fmt::format("At the one batch that both measured, B is {}.",
                       faster   ? "faster"
                       : slower ? "slower"
                                : "not shown to differ");
  return fmt::format(
      "Of {} batches that both measured, B is faster at {}, slower at {}, and at {} no difference "
      "is shown.",
      shared, faster, slower, same);
}

std::string sentence(const Comparison& c) {
  const std::string batches = batches_sentence(c);
  return (c.best_ratio ? best_sentence(c) : verdict_words(c) + ".") + (batches.empty() ? "" : " ") +
         batches;
}

std::string ratio_words(const trial::Interval& ratio) {
  return fmt::format("{:.3g} ({:.3g}–{:.3g})", ratio.mean, ratio.low, ratio.high);
}

}  // namespace sweetspot::report::compare
