#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "workload/command/output/reader.h"

namespace sweetspot::workload::command::output {

// One write of a program.
struct Piece {
  double seconds = 0;
  std::string bytes;
};

// A file of tests/fixtures/transcripts; make.py there documents its header.
struct Transcript {
  std::string name, source;
  bool counts_samples = false;
  double total = 0, seconds_each = 0, tolerance = 0;
  std::vector<Piece> pieces;
};

std::vector<std::string> transcript_names();
Transcript read_transcript(const std::string& name);

// Everything a Reader reports, as one text to compare.
std::string told_by(Reader& reader);
std::vector<Advance> fed(Reader& reader, const std::vector<Piece>& pieces);

}  // namespace sweetspot::workload::command::output
