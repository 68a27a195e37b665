#pragma once
#include <string>

namespace sweetspot::cli {

// A bar of `share` (0 to 1) of `width` columns, in eighths of a column; in ASCII where the locale
// has no UTF-8.
std::string share_bar(double share, int width, bool utf8);

}  // namespace sweetspot::cli
