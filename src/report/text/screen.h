#pragma once
#include <cstddef>
#include <string>

#include "report/answer.h"

namespace sweetspot::report {

struct ScreenOptions {
  std::size_t width = 80;
  bool utf8 = true;          // else ASCII
  std::string more_certain;  // the flag that asks for a surer answer: "--budget 2m"; empty: none
  std::string page;          // the file with the whole report; empty: none
  std::string trials;        // the command that lists every trial; empty: none
};

// A study's answer for a terminal or a pipe: the sentence, the command, a row for each of the
// batches that matter, and why. No line is wider than asked for, unless one word of a command or a
// file name is; never more than 20 lines. A study without a recommendation shows what is known and
// its trials.
std::string screen(const Answer& answer, const ScreenOptions& options = {});

}  // namespace sweetspot::report
