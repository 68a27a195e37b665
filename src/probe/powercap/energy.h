#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sweetspot::probe::powercap {

// What the CPU packages have used since this was made, from the counters of RAPL. Many systems show
// them to root alone, and virtual machines not at all: then it is unknown.
class Energy {
 public:
  explicit Energy(const std::filesystem::path& root = "/");
  std::optional<double> joules();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj;  // where the counter starts again from zero
    std::uint64_t last_uj;
  };
  std::vector<Package> packages_;
  double joules_ = 0;
};

}  // namespace sweetspot::probe::powercap
