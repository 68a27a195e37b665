#include "report/paper/judgement.h"

#include <fmt/format.h>

namespace sweetspot::report::paper {
namespace {

std::string with_interval(const stats::Interval& measured, int digits, const char* unit) {
  return fmt::format("{:.{}f}{} ({:.{}f} to {:.{}f})", measured.mean, digits, unit, measured.low,
                     digits, measured.high, digits);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does_not_hold";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_tested:
      return "not_tested";
  }
  return "";
}

std::string_view words(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_tested:
      return "not tested here";
  }
  return "";
}

Verdict between(const stats::Interval& measured, double low, double high) {
  if (measured.low >= low && measured.high <= high) return Verdict::holds;
  if (measured.high < low || measured.low > high) return Verdict::does_not_hold;
  return Verdict::undecided;
}

std::string times(const stats::Interval& ratio, int digits) {
  return with_interval(ratio, digits, " times");
}

std::string percent(const stats::Interval& share) {
  return with_interval({100 * share.mean, 100 * share.low, 100 * share.high}, 2, "%");
}

std::string points(const stats::Interval& share) {
  return with_interval({100 * share.mean, 100 * share.low, 100 * share.high}, 2, " points");
}

}  // namespace sweetspot::report::paper
