#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sweetspot::probe::powercap {

// The energy of the CPU packages since construction, from RAPL's counters. Many systems show them
// only to root, and virtual machines not at all: then it is unknown.
class Energy {
 public:
  explicit Energy(const std::filesystem::path& root = "/");
  std::optional<double> joules();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj;  // where the counter wraps
    std::uint64_t last_uj;
  };
  std::vector<Package> packages_;
  double joules_ = 0;
};

}  // namespace sweetspot::probe::powercap
