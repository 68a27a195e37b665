#include "cli/live/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/text.h"
#include "report/table.h"

namespace sweetspot::cli {
namespace {

constexpr std::size_t usual_width = 80, usual_height = 24;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

winsize size() {
  winsize found{};
  for (const int stream : {STDERR_FILENO, STDOUT_FILENO})
    if (ioctl(stream, TIOCGWINSZ, &found) == 0) return found;
  return {};
}

bool is_live(int stream) {
  const std::string term = variable("TERM");
  return isatty(stream) && !term.empty() && term != "dumb";
}

}  // namespace

bool is_live_terminal() { return is_live(STDERR_FILENO); }
bool has_colour() { return is_live_terminal() && variable("NO_COLOR").empty(); }

bool stdout_is_live_terminal() { return is_live(STDOUT_FILENO); }
bool stdout_has_colour() { return stdout_is_live_terminal() && variable("NO_COLOR").empty(); }

std::size_t terminal_width() { return size().ws_col ? size().ws_col : usual_width; }
std::size_t terminal_height() { return size().ws_row ? size().ws_row : usual_height; }

std::size_t most_width() {
  constexpr std::size_t any = 10'000;
  return stdout_is_live_terminal() ? terminal_width() : any;
}

std::string wrapped_lines(const std::string& text) {
  std::string lines;
  for (const std::string& line : report::wrapped(text, most_width())) lines += line + "\n";
  return lines;
}

std::string cut(const std::string& text, std::size_t columns) {
  if (report::display_width(text) <= columns) return text;
  std::string kept;
  for (const char c : text) {
    const bool begins_a_character = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins_a_character && report::display_width(kept) == columns) break;
    kept += c;
  }
  return kept;
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = core::lower(variable(name));
    if (value.empty()) continue;
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::string share_bar(double share, int width, bool utf8) {
  constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double columns = std::clamp(share, 0.0, 1.0) * width;
  if (!utf8) return std::string(static_cast<std::size_t>(std::lround(columns)), '#');
  const long parts = std::lround(columns * 8);
  std::string bar;
  for (long i = 0; i < parts / 8; ++i) bar += "█";
  return bar + eighths[parts % 8];
}

}  // namespace sweetspot::cli
