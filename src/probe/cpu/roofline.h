#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace sweetspot::probe::cpu {

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

}  // namespace sweetspot::probe::cpu
