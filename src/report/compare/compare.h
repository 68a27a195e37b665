#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/speeds.h"
#include "trial/study.h"

namespace sweetspot::report::compare {

// One of the two, and what to call it: "study 3", "study 3 of other.db".
struct Side {
  std::string name;
  trial::Study study;
};

// What was measured at one batch: the fastest setting of that batch, over its trials.
struct Point {
  std::optional<trial::Interval> samples_per_second;
  std::optional<core::Bytes> memory;
  std::size_t trials = 0;
};

enum class Verdict { faster, slower, no_difference };
std::string_view name(Verdict);   // "no_difference"
std::string_view words(Verdict);  // "no difference shown"

struct Line {
  std::int64_t batch = 1;
  Point a, b;
  std::optional<trial::Interval> speed_ratio;  // b over a
  std::optional<double> memory_ratio;
  std::optional<Verdict> verdict;  // of b
};

// Something that is not the same on both sides; unknown is empty.
struct Difference {
  std::string what, a, b;
};

struct Comparison {
  std::string a_name, b_name;
  std::vector<Line> lines;  // every batch of either, ascending
  std::optional<Measured> a, b;
  std::optional<trial::Interval> best_ratio;  // each at its own fastest batch, b over a
  std::optional<Verdict> verdict;             // by that
  std::vector<Difference> differences;
  bool repeated = false;  // else the intervals know nothing of how runs differ
  std::string sentence;
};
Comparison compare(const Side& a, const Side& b);

// What the two did not have in common: machine, program, settings, and the terms of the question.
std::vector<Difference> differences(const trial::Study& a, const trial::Study& b);

// Who is faster, or why that cannot be said; without a full stop.
std::string verdict_words(const Comparison& comparison);
// How the batches stand that both measured; empty where one measured nothing.
std::string batches_sentence(const Comparison& comparison);
// What to take home: who is faster and by how much, where each is fastest, and the batches.
std::string sentence(const Comparison& comparison);

// "1.82 (1.75–1.90)"
std::string ratio_words(const trial::Interval& ratio);

}  // namespace sweetspot::report::compare
