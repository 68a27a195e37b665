#pragma once
#include <cstdlib>
#include <cstring>

// Changes that are being judged, by number: SWEETSPOT_TRY=1,2,5.
namespace sweetspot::engine::cuda {

inline bool trying(int change) {
  static const unsigned chosen = [] {
    unsigned bits = 0;
    const char* text = std::getenv("SWEETSPOT_TRY");
    while (text && *text) {
      char* end = nullptr;
      const long n = std::strtol(text, &end, 10);
      if (end == text) break;
      if (n > 0 && n < 32) bits |= 1u << n;
      text = *end ? end + 1 : end;
    }
    return bits;
  }();
  return chosen >> change & 1u;
}

}  // namespace sweetspot::engine::cuda
