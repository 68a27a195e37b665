#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/shown_study.h"

// The parts of one-screen answers.
namespace sweetspot::report {

struct ScreenOptions {
  std::size_t width = 80;
  bool utf8 = true;          // else ASCII
  std::string more_certain;  // the flag for a more certain answer: "--budget 2m"; empty: none
  std::string page;          // the file with the whole report; empty: none
  std::string trials;        // the command that lists every trial; empty: none
  bool with_message = true;  // of a study without a recommendation
};

using Lines = std::vector<std::string>;

// With characters that the terminal cannot show replaced.
std::string plain(std::string text);
std::string said(const std::string& text, const ScreenOptions& options);

struct ScreenColumn {
  std::string title, short_title;
  bool left = false;
  std::vector<std::string> cells;

  std::size_t width(bool is_short) const;
};

// As much of the table as fits the width: narrower gaps and titles first, then fewer columns, but
// always the first two. A row with a failure shows its first cell and that.
Lines table_lines(std::vector<ScreenColumn> columns, const std::vector<std::string>& failures,
                  const ScreenOptions& options);
// In shell syntax: over several lines if one is too short, but never many.
Lines command_lines(const std::string& command, std::size_t width);
Lines why_lines(std::span<const std::string> reasons, std::size_t width);
std::string joined(const Lines& lines);

// A study's answer for a terminal or a pipe: the sentence, the command, a row for each of the
// batches that matter, and why. No line is wider than requested, unless one word of a command or a
// file name is; never more than 20 lines. A study without a recommendation shows what is known and
// its trials.
std::string screen(const ShownStudy& study, const ScreenOptions& options = {});

}  // namespace sweetspot::report
