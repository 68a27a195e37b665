#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sweetspot::workload::command::output {

// Splits a terminal stream into refreshes: what a program wrote between two of \r, \n, \b and the
// escape sequences that move the cursor or clear the line. Escapes and other controls are dropped.
// A refresh is kept up to `longest_kept` bytes; the rest of an endless one is skipped.
class Scanner {
 public:
  static constexpr std::size_t longest_kept = 4096;

  class Sink {
   public:
    // A bar may be complete here, long before its end: it is written first and ended by the next
    // one. True: it was; not called again until the refresh ends.
    virtual bool maybe_whole(std::string_view text, double at_seconds) = 0;
    // `at_seconds` is when the text's last byte arrived, not what ended it; the text is not empty.
    virtual void ended(std::string_view text, double at_seconds) = 0;

   protected:
    ~Sink() = default;
  };

  void feed(std::string_view bytes, double at_seconds, Sink& sink);

 private:
  enum class Mode : std::uint8_t { text, escape, escape_more, sequence, string, string_escape };

  const char* text(const char* at, const char* end, double at_seconds, Sink& sink);
  void control(char byte, Sink& sink);
  void escape(char byte, double at_seconds, Sink& sink);
  void append(const char* begin, const char* end, double at_seconds);
  void ask(double at_seconds, Sink& sink);
  void end(Sink& sink);

  // A line of "/s/s/s" must not cost a parse at each.
  static constexpr int most_questions = 8;

  Mode mode_ = Mode::text;
  bool after_slash_ = false;
  int questions_left_ = most_questions;
  std::size_t string_bytes_ = 0;
  std::string line_;
  double last_text_seconds_ = 0;
};

}  // namespace sweetspot::workload::command::output
