#include "report/paper/judgement.h"

#include <fmt/format.h>

#include <limits>

namespace sweetspot::report::paper {

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

std::string with_interval(const stats::Interval& measured, int digits, double unit) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", unit * measured.mean, digits,
                     unit * measured.low, digits, unit * measured.high, digits);
}

}  // namespace sweetspot::report::paper
