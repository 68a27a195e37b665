#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/units.h"

namespace sweetspot::probe::cpu {

// Runs `work(0)` … `work(threads - 1)` at once, each on a core of its own as long as there are
// enough: a scheduler that puts two of them on one core for a while would show half of the
// machine's speed.
void run_apart(int threads, const std::function<void(int member)>& work);

// Multiply-adds in registers that wait for nothing but the CPU: the fp32 operations (a multiply-add
// is two) of one call, some microseconds of the widest instructions this CPU has.
double multiply_adds();

// Operations a second of `threads` threads at once, each judged by its best millisecond of
// `seconds`.
double peak_flops_per_second(int threads, double seconds);

// Three arrays that together are several times the last-level cache, without taking more than an
// eighth of the memory that is free.
core::Bytes triad_bytes();

// a = b + s·c over arrays of `bytes` in all, by `threads` threads: the best of a few passes, with
// the two reads and one write of each element counted and the write-allocation not.
double triad_bytes_per_second(int threads, core::Bytes bytes);

// What this machine can do at most, whatever the program.
struct Roofline {
  double flops_per_second = 0;  // fp32, a multiply-add counted as two
  double bytes_per_second = 0;  // to and from memory
};

// Takes about half a second.
Roofline measure_roofline(int threads);

// Measured once for each CPU model and thread count and kept in the user's cache, since the answer
// changes with the machine only. `again` measures anew. A cache that cannot be read or written
// costs the measuring, nothing else.
Roofline roofline(int threads, bool again = false);

// The same with the file and the CPU named, and the measuring given.
struct RooflineKey {
  std::string cpu;
  int threads = 1;
};
std::optional<Roofline> read_roofline(const std::filesystem::path& file, const RooflineKey& key);
// Keeps what the file says of other keys. False when it could not be written.
bool write_roofline(const std::filesystem::path& file, const RooflineKey& key,
                    const Roofline& roofline);
// In XDG_CACHE_HOME, or .cache of HOME; nothing when there is neither.
std::optional<std::filesystem::path> roofline_file();

// In XDG_CACHE_HOME, or .cache of HOME; nothing when there is neither.
std::optional<std::filesystem::path> cache_file(const std::string& name);

// Beside the file and then in its place: readers see the old one or the new one. False when it
// could not be written.
bool write_cache(const std::filesystem::path& file, const std::string& text);

}  // namespace sweetspot::probe::cpu
