#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/units.h"

namespace sweetspot::probe::cpu {

// Runs `work(0)` … `work(threads - 1)` concurrently, each pinned to its own core while there are
// enough: a scheduler that puts two of them on one core would show half of the machine's speed.
void run_apart(int threads, const std::function<void(int member)>& work);

// Multiply-adds in registers, bound only by the CPU: returns the fp32 operations (a multiply-add is
// two) of one call, some microseconds of the widest instructions this CPU has.
double multiply_adds();

// Operations per second of `threads` concurrent threads, each judged by its best millisecond of
// `seconds`.
double peak_flops_per_second(int threads, double seconds);

// Three arrays that together are several times the last-level cache, but at most an eighth of free
// memory.
core::Bytes triad_bytes();

// a = b + s·c over arrays of `bytes` in total, with `threads` threads: the best of a few passes.
// Counts the two reads and one write of each element, not the write-allocate.
double triad_bytes_per_second(int threads, core::Bytes bytes);

// This machine's peak rates.
struct Roofline {
  double flops_per_second = 0;  // fp32, a multiply-add counted as two
  double bytes_per_second = 0;  // to and from memory
};

// Takes about half a second.
Roofline measure_roofline(int threads);

// Measured once per CPU model and thread count and cached for the user, since the result changes
// only with the machine. `again` measures again. A cache that cannot be read or written only costs
// the measurement.
Roofline roofline(int threads, bool again = false);

// The same with an explicit file, CPU and measurement.
struct RooflineKey {
  std::string cpu;
  int threads = 1;
};
std::optional<Roofline> read_roofline(const std::filesystem::path& file, const RooflineKey& key);
// Keeps the file's other entries. False if it could not be written.
bool write_roofline(const std::filesystem::path& file, const RooflineKey& key,
                    const Roofline& roofline);
// In XDG_CACHE_HOME, or .cache of HOME; nullopt if there is neither.
std::optional<std::filesystem::path> roofline_file();

// In XDG_CACHE_HOME, or .cache of HOME; nullopt if there is neither.
std::optional<std::filesystem::path> cache_file(const std::string& name);

// Writes a temporary file and renames it: readers see the old one or the new one. False if it could
// not be written.
bool write_cache(const std::filesystem::path& file, const std::string& text);

}  // namespace sweetspot::probe::cpu
