#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sweetspot::probe::proc {

// The kernel's pressure stall information (PSI) of one resource: "cpu", "memory" or "io".
struct Pressure {
  std::optional<double> some_share;            // of the last ten seconds, some task waited for it
  std::optional<double> full_share;            // every task did
  std::optional<std::uint64_t> some_total_us;  // a counter
};
Pressure pressure(const std::string& resource, const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::proc
