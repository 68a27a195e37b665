#include "probe/fake_nvml/folder.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;
using sweetspot::probe::nvml::MemoryInfo2;
using sweetspot::probe::nvml::not_available;
using sweetspot::probe::nvml::ProcessInfo;

constexpr unsigned watts = 300;

fs::path root() { return std::getenv("FAKE_NVML_FOLDER"); }

// A handle is the address of its folder's name.
FakeHandle handle_of(const fs::path& path) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::scoped_lock lock(mutex);
  return reinterpret_cast<FakeHandle>(const_cast<std::string*>(&*known.insert(path).first));
}
fs::path path_of(FakeHandle handle) { return *reinterpret_cast<const std::string*>(handle); }

unsigned count(const fs::path& folder, const std::string& prefix) {
  unsigned found = 0;
  while (fs::exists(folder / (prefix + std::to_string(found)))) ++found;
  return found;
}

std::optional<unsigned long long> number_in(const fs::path& file) {
  unsigned long long value = 0;
  if (std::ifstream in(file); in >> value) return value;
  return std::nullopt;
}

std::vector<ProcessInfo> running_in(const fs::path& folder) {
  std::vector<ProcessInfo> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || kill(pid, 0) != 0) continue;
    if (const auto bytes = number_in(entry.path()); bytes && *bytes > 0)
      found.push_back({static_cast<unsigned>(pid), *bytes, 0, 0});
  }
  return found;
}

}  // namespace

bool folder() { return std::getenv("FAKE_NVML_FOLDER") != nullptr; }
unsigned folder_gpus() { return count(root(), "gpu"); }
FakeHandle folder_gpu(unsigned index) {
  return handle_of(root() / ("gpu" + std::to_string(index)));
}
bool is_lost(FakeHandle handle) { return fs::exists(path_of(handle) / "lost"); }
unsigned instances_of(FakeHandle handle) { return count(path_of(handle), "mig"); }
FakeHandle instance_of(FakeHandle handle, unsigned index) {
  return handle_of(path_of(handle) / ("mig" + std::to_string(index)));
}

FakeStatus memory_of(FakeHandle handle, MemoryInfo2& memory) {
  if (is_lost(handle)) return FakeStatus::gpu_is_lost;
  memory.total = number_in(path_of(handle) / "total").value_or(16ull << 30);
  memory.reserved = 0;
  memory.used = number_in(path_of(handle) / "others").value_or(0);
  for (const ProcessInfo& process : running_in(path_of(handle))) memory.used += process.used_memory;
  memory.used = std::min(memory.used, memory.total);
  memory.free = memory.total - memory.used;
  return FakeStatus::ok;
}

FakeStatus processes_of(FakeHandle handle, std::vector<ProcessInfo>& processes) {
  if (is_lost(handle)) return FakeStatus::gpu_is_lost;
  if (fs::exists(root() / "denied")) return FakeStatus::no_permission;
  if (fs::exists(root() / "hidden")) return FakeStatus::ok;
  processes = running_in(path_of(handle));
  if (!processes.empty()) std::ofstream(path_of(handle) / "read");
  const auto offset = number_in(root() / "offset").value_or(0);
  for (ProcessInfo& process : processes) {
    process.pid += static_cast<unsigned>(offset);
    if (fs::exists(root() / "secret")) process.used_memory = not_available;
  }
  return FakeStatus::ok;
}

FakeStatus limit_of(FakeHandle handle, unsigned& milliwatts) {
  milliwatts = static_cast<unsigned>(number_in(path_of(handle) / "limit").value_or(700'000));
  return is_lost(handle) ? FakeStatus::gpu_is_lost : FakeStatus::ok;
}

FakeStatus set_limit(FakeHandle handle, unsigned milliwatts) {
  if (is_lost(handle)) return FakeStatus::gpu_is_lost;
  if (fs::exists(root() / "fixed")) return FakeStatus::no_permission;
  // Atomically: readers see the one or the other.
  const fs::path next = path_of(handle) / "limit.next";
  std::ofstream(next) << milliwatts;
  fs::rename(next, path_of(handle) / "limit");
  return FakeStatus::ok;
}

FakeStatus power_of(FakeHandle handle, unsigned& milliwatts) {
  limit_of(handle, milliwatts);
  milliwatts = std::min(milliwatts, watts * 1000);
  return is_lost(handle) ? FakeStatus::gpu_is_lost : FakeStatus::ok;
}

FakeStatus energy_of(FakeHandle handle, unsigned long long& millijoules) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  unsigned milliwatts = 0;
  power_of(handle, milliwatts);
  millijoules = milliwatts / 1000 * static_cast<unsigned long long>(ms);  // as if always so
  return is_lost(handle) ? FakeStatus::gpu_is_lost : FakeStatus::ok;
}
