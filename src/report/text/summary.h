#pragma once
#include <string>
#include <vector>

#include "report/answer.h"

namespace sweetspot::report {

// The answer in one sentence: the recommendation's, or a summary of the trials; may be empty.
std::string sentence(const Answer& answer);

// The answer in a few numbers.
struct Figure {
  std::string name, value;
};
std::vector<Figure> figures(const Answer& answer);

}  // namespace sweetspot::report
