#include "cli/live/bar.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::cli {

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
