#include "workload/command/output/scanner.h"

#include <algorithm>
#include <array>

namespace sweetspot::workload::command::output {
namespace {

// A terminal would swallow everything after an unfinished OSC or DCS; a reader must not.
constexpr std::size_t longest_string = 4096;

enum : std::uint8_t { plain = 0, question = 1, other_control = 2 };

// What interrupts a run of text: controls always, and what may complete a bar: ']' of tqdm's and
// the '/' of "it/s" and "ms/step".
constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) table[byte] = other_control;
  table[0x7f] = other_control;
  table['\t'] = plain;
  table[']'] = table['/'] = question;
  return table;
}();

std::uint8_t class_of(char byte) { return classes[static_cast<unsigned char>(byte)]; }

// The first byte of at least this class. Whole blocks without any are skipped, which the compiler
// vectorises.
const char* find_stop(const char* at, const char* last, std::uint8_t stop) {
  constexpr std::ptrdiff_t block = 32;
  while (last - at >= block) {
    std::uint8_t any = 0;
    for (std::ptrdiff_t i = 0; i < block; ++i) {
      const auto byte = static_cast<std::uint8_t>(at[i]);
      any |=
          static_cast<std::uint8_t>((byte < 0x20) | (byte == 0x7f) | (byte == ']') | (byte == '/'));
    }
    if (any != 0) {
      const char* const end = at + block;
      const char* const found =
          std::find_if(at, end, [stop](char c) { return class_of(c) >= stop; });
      if (found != end) return found;
    }
    at += block;
  }
  return std::find_if(at, last, [stop](char c) { return class_of(c) >= stop; });
}

// Cursor up, down, next, previous, to column, to place; clear screen, clear line.
bool ends_refresh(char final) {
  return std::string_view("ABEFGHJKf").find(final) != std::string_view::npos;
}

}  // namespace

void Scanner::feed(std::string_view bytes, double at_seconds, Sink& sink) {
  const char* at = bytes.data();
  const char* const last = at + bytes.size();
  while (at != last) {
    if (mode_ == Mode::text)
      at = text(at, last, at_seconds, sink);
    else
      escape(*at++, at_seconds, sink);
  }
}

// One run of text and what interrupts it.
const char* Scanner::text(const char* at, const char* last, double at_seconds, Sink& sink) {
  const bool completes_rate = after_slash_ && *at == 's';
  after_slash_ = false;
  if (completes_rate) {
    append(at, at + 1, at_seconds);
    ask(at_seconds, sink);
    return at + 1;
  }
  const std::uint8_t stop = questions_left_ > 0 ? question : other_control;
  const char* const run = find_stop(at, last, stop);
  if (run != last && *run == '\n' && line_.empty()) {  // a whole line in one piece: no copy
    const std::string_view whole(at, static_cast<std::size_t>(run - at));
    if (!whole.empty()) sink.ended(whole.substr(0, longest_kept), at_seconds);
    questions_left_ = most_questions;
    return run + 1;
  }
  if (run != at) append(at, run, at_seconds);
  if (run == last) return last;
  if (class_of(*run) == other_control) {
    control(*run, sink);
  } else {
    append(run, run + 1, at_seconds);
    if (*run == ']') ask(at_seconds, sink);
    after_slash_ = *run == '/';
  }
  return run + 1;
}

void Scanner::control(char byte, Sink& sink) {
  if (byte == '\n' || byte == '\r' || byte == '\b')
    end(sink);
  else if (byte == '\033')
    mode_ = Mode::escape;
}

// ECMA-48: ESC [ parameters final, ESC ] or P or X or ^ or _ string (BEL or ESC \), ESC
// intermediates final. An invalid byte ends the sequence and counts itself.
void Scanner::escape(char byte, double at_seconds, Sink& sink) {
  const auto code = static_cast<unsigned char>(byte);
  const auto leave_and_read = [&] {
    mode_ = Mode::text;
    text(&byte, &byte + 1, at_seconds, sink);
  };
  const bool line_ends = byte == '\n' || byte == '\r';
  switch (mode_) {
    case Mode::text:
      break;
    case Mode::escape:
      string_bytes_ = 0;
      if (byte == '[')
        mode_ = Mode::sequence;
      else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
        mode_ = Mode::string;
      else if (code >= 0x20 && code <= 0x2f)
        mode_ = Mode::escape_more;
      else if (code >= 0x30 && code <= 0x7e)
        mode_ = Mode::text;
      else
        leave_and_read();
      break;
    case Mode::escape_more:
      if (code >= 0x30 && code <= 0x7e)
        mode_ = Mode::text;
      else if (code < 0x20 || code > 0x2f)
        leave_and_read();
      break;
    case Mode::sequence:
      if (code >= 0x40 && code <= 0x7e) {
        mode_ = Mode::text;
        if (ends_refresh(byte)) end(sink);
      } else if (code < 0x20 || code > 0x3f) {
        leave_and_read();
      }
      break;
    case Mode::string:
      if (line_ends)
        leave_and_read();
      else if (byte == '\033')
        mode_ = Mode::string_escape;
      else if (byte == '\a' || ++string_bytes_ >= longest_string)
        mode_ = Mode::text;
      break;
    case Mode::string_escape:
      if (byte == '\\') {
        mode_ = Mode::text;
      } else {  // the string is over, and a new escape has begun
        mode_ = Mode::escape;
        escape(byte, at_seconds, sink);
      }
      break;
  }
}

void Scanner::append(const char* begin, const char* end, double at_seconds) {
  const std::size_t room = longest_kept - line_.size();
  line_.append(begin, std::min(static_cast<std::size_t>(end - begin), room));
  last_text_seconds_ = at_seconds;
}

void Scanner::ask(double at_seconds, Sink& sink) {
  if (line_.size() == longest_kept || questions_left_ == 0) {
    questions_left_ = 0;
    return;
  }
  questions_left_ = sink.maybe_whole(line_, at_seconds) ? 0 : questions_left_ - 1;
}

void Scanner::end(Sink& sink) {
  if (!line_.empty()) sink.ended(line_, last_text_seconds_);
  line_.clear();
  after_slash_ = false;
  questions_left_ = most_questions;
}

}  // namespace sweetspot::workload::command::output
