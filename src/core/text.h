#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace sweetspot::core {

// "31.5 MiB"; exact below 1 KiB ("812 B").
std::string format_bytes(Bytes bytes);
// "4GiB", "512 MiB", "2G", "1000000": binary units with or without the i; InputError names `what`.
Bytes parse_bytes(std::string_view text, std::string_view what);
// "20ms", "1.5s", "2m", "100us"; InputError names `what`.
Seconds parse_duration(std::string_view text, std::string_view what);
// "850 µs", "12.3 ms", "4.1 s", "2 min 5 s".
std::string format_duration(Seconds duration);
// "0.0214 J", "2.14 mJ", "60.3 µJ": a sample may take little.
std::string format_joules(double joules);
// 9123.4 → "9,123"
std::string format_count(double count);
// The same to three digits, for less precise values: 20323 → "20,300", 2.346 → "2.35".
std::string format_rounded(double count);
// Without surrounding blanks and tabs.
std::string_view trimmed(std::string_view text);
// ASCII letters in lower case, whatever the locale.
std::string lower(std::string_view text);
// At most so many bytes of it, and no part of a letter.
std::string_view shortened(std::string_view text, std::size_t most_bytes);
// FNV-1a, which only distinguishes an edited text from the previous one.
std::string fingerprint(std::string_view text);
// "a, b and c"
std::string joined(const std::vector<std::string>& parts);
// Control characters made visible, to show text from untrusted files.
std::string printable(std::string_view text);

// Bytes of the character at the front of `text`, which is not empty: 0 for invalid UTF-8, for
// control characters (terminals also obey those from U+0080 to U+009F) and for bidirectional
// controls, which make a line read as something else.
std::size_t printable_bytes(std::string_view text);

}  // namespace sweetspot::core
