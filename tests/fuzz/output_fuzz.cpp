// The output reader on any bytes: the result does not depend on how they are split, is valid UTF-8,
// and no Advance is empty or runs backwards. Escapes of the seed transcripts are undone, so that it
// begins with real bars.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/command/output/reader.h"

namespace {

using namespace sweetspot::workload::command::output;

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '\\' && at + 1 < text.size() ? text[at + 1] : '\0';
    const std::size_t which = std::string_view("rnbet").find(next);
    if (next != '\0' && which != std::string_view::npos) {
      bytes += "\r\n\b\033\t"[which];
      ++at;
    } else {
      bytes += text[at];
    }
  }
  return bytes;
}

// The clock advances at each newline of the input, whatever the chunks.
std::string told(std::string_view bytes, std::size_t chunk, bool with_regex) {
  Reader reader = with_regex ? Reader(R"((?<samples>\d+)/)") : Reader();
  double seconds = 0;
  while (!bytes.empty()) {
    std::string_view moment = bytes.substr(0, bytes.find('\n', 0) + 1);
    if (moment.empty()) moment = bytes;
    bytes.remove_prefix(moment.size());
    seconds += 0.5;
    for (; !moment.empty(); moment.remove_prefix(std::min(chunk, moment.size())))
      reader.feed(moment.substr(0, chunk), seconds);
  }
  std::string all;
  for (const Advance& advance : reader.take()) {
    if (!(advance.seconds > 0) || advance.updates < 0 || advance.samples < 0) __builtin_trap();
    if (advance.updates + advance.samples == 0) __builtin_trap();
    all += std::to_string(advance.seconds) + ' ' + std::to_string(advance.updates) + ' ' +
           std::to_string(advance.samples) + '\n';
  }
  const Findings& findings = reader.findings();
  const std::string lines = reader.last_lines();
  for (const char c : lines)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') __builtin_trap();
  return all + std::to_string(findings.lines) + ' ' + std::to_string(findings.counter.lines) + ' ' +
         findings.counter.source + findings.changed_batch.value_or("-") +
         findings.memory_evidence.value_or("-") + lines;
}

// The suggestion can be pasted between single quotes, and it compiles.
void suggest_from(std::string_view bytes) {
  Reader reader;
  reader.feed(bytes, 1);
  const Suggestion suggestion = reader.suggestion();
  if (suggestion.regex.find('\'') != std::string::npos) __builtin_trap();
  if (suggestion.kind == Suggestion::Kind::paste_regex) Reader(suggestion.regex);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = unescaped({reinterpret_cast<const char*>(data), size});
  suggest_from(bytes);
  for (const bool with_regex : {false, true}) {
    const std::string whole = told(bytes, bytes.size() + 1, with_regex);
    if (told(bytes, 1, with_regex) != whole || told(bytes, 7, with_regex) != whole)
      __builtin_trap();
  }
  return 0;
}
