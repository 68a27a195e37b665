#pragma once
#include <cstddef>
#include <string>

namespace sweetspot::cli {

// What stderr can show.
bool is_live_terminal();  // lines may be rewritten: a terminal, and not a dumb one
bool has_colour();        // a live terminal, and NO_COLOR is not set
// The same of stdout, where the result itself is what moves.
bool stdout_is_live_terminal();
bool stdout_has_colour();
std::size_t terminal_width();
std::size_t terminal_height();

// As many columns of it as fit, without cutting a character in two.
std::string cut(const std::string& text, std::size_t columns);

// Whether the locale's characters are UTF-8; else plots are drawn in ASCII.
bool is_utf8_locale();

// A bar of `share` (0 to 1) of `width` columns, in eighths of a column; in ASCII where the locale
// has no UTF-8.
std::string share_bar(double share, int width, bool utf8);

}  // namespace sweetspot::cli
