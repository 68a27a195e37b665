#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/speeds.h"
#include "trial/study.h"

namespace sweetspot::report::compare {

// One of the two studies, and its name: "study 3", "study 3 of other.db".
struct Side {
  std::string name;
  trial::Study study;
};

// The measurements of one batch: its fastest setting, over its trials.
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

// Something that differs between the sides; unknown is empty.
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
  bool repeated = false;  // else the intervals do not include the difference between runs
  std::string sentence;
};
Comparison compare(const Side& a, const Side& b);

// The differences between the two: machine, program, settings, and the terms of the study key.
std::vector<Difference> differences(const trial::Study& a, const trial::Study& b);

// Which is faster, or why that cannot be said; without a full stop.
std::string verdict_words(const Comparison& comparison);
// A comparison of the batches that both measured; empty if one measured nothing.
std::string batches_sentence(const Comparison& comparison);
// The summary: which is faster and by how much, where each is fastest, and the batches.
std::string sentence(const Comparison& comparison);

// "1.82 (1.75–1.90)"
std::string ratio_words(const trial::Interval& ratio);

}  // namespace sweetspot::report::compare
