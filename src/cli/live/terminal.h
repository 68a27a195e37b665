#pragma once
#include <cstddef>
#include <string>

namespace sweetspot::cli {

// What stderr can show.
bool is_live_terminal();  // lines may be rewritten: a terminal, and not a dumb one
bool has_colour();        // a live terminal, and NO_COLOR is not set
// The same for stdout, if the result itself is live.
bool stdout_is_live_terminal();
bool stdout_has_colour();
std::size_t terminal_width();
std::size_t terminal_height();

// For results on stdout: as wide as the terminal for users; a pipe gets everything.
std::size_t most_width();
std::string wrapped_lines(const std::string& text);  // at words, each line ended

// As many columns as fit, without splitting a character.
std::string cut(const std::string& text, std::size_t columns);

// Whether the locale's characters are UTF-8; else plots are drawn in ASCII.
bool is_utf8_locale();

// A bar of `share` (0 to 1) of `width` columns, in eighths of a column; in ASCII if the locale is
// not UTF-8.
std::string share_bar(double share, int width, bool utf8);

}  // namespace sweetspot::cli
