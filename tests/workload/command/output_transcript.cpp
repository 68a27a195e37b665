#include "workload/command/output_transcript.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace sweetspot::workload::command::output {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(SWEETSPOT_SOURCE_DIR) / "tests/fixtures/transcripts";

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    switch (text.at(++at)) {
      case 'r':
        bytes += '\r';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 'b':
        bytes += '\b';
        break;
      case 't':
        bytes += '\t';
        break;
      case 'e':
        bytes += '\033';
        break;
      case '\\':
        bytes += '\\';
        break;
      default:
        throw std::runtime_error("unknown escape in a transcript");
    }
  }
  return bytes;
}

void read_header(Transcript& transcript, const std::string& line) {
  std::istringstream words(line.substr(2));
  std::string key;
  words >> key >> std::ws;
  if (key == "source") {
    std::getline(words, transcript.source);
  } else if (key == "counts") {
    std::string counts;
    words >> counts;
    transcript.counts_samples = counts == "samples";
  } else if (key == "total") {
    words >> transcript.total;
  } else if (key == "seconds_each") {
    words >> transcript.seconds_each;
  } else if (key == "tolerance") {
    words >> transcript.tolerance;
  }
}

}  // namespace

std::vector<std::string> transcript_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Transcript read_transcript(const std::string& name) {
  Transcript transcript;
  transcript.name = name;
  std::ifstream file(folder / (name + ".txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) {
      read_header(transcript, line);
      continue;
    }
    const std::size_t space = line.find(' ');
    transcript.pieces.push_back(
        {std::stod(line.substr(0, space)), unescaped(std::string_view(line).substr(space + 1))});
  }
  return transcript;
}

std::string told_by(Reader& reader) {
  std::ostringstream text;
  text.precision(17);
  for (const Advance& advance : reader.take())
    text << advance.seconds << ' ' << advance.updates << ' ' << advance.samples << '\n';
  const Findings& findings = reader.findings();
  text << "source " << findings.counter.source << '\n'
       << "changed " << findings.changed_batch.value_or("-") << '\n'
       << "memory " << findings.memory_evidence.value_or("-") << '\n'
       << "lines " << findings.lines << ", of the counter " << findings.counter.lines << ", total "
       << findings.counter.total.value_or(-1) << '\n'
       << "suggestion " << reader.suggestion().regex << '\n'
       << reader.last_lines();
  return text.str();
}

std::vector<Advance> fed(Reader& reader, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) reader.feed(piece.bytes, piece.seconds);
  return reader.take();
}

}  // namespace sweetspot::workload::command::output
