#pragma once
#include <string>
#include <vector>

#include "report/shown_study.h"

namespace sweetspot::report {

// The answer in one sentence: the recommendation's, or a summary of the trials; may be empty.
std::string sentence(const ShownStudy& study);

// The answer in a few numbers.
struct Figure {
  std::string name, value;
};
std::vector<Figure> figures(const ShownStudy& study);

}  // namespace sweetspot::report
