#include "probe/proc/host.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>

#include "probe/proc/cgroup.h"
#include "probe/text_file.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

// The text after "key : " in the first line that has it.
std::optional<std::string> value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || line.compare(0, key.size(), key) != 0) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == line.npos ? "" : line.substr(start);
  }
  return std::nullopt;
}

std::optional<core::Bytes> meminfo(const fs::path& root, const std::string& key) {
  const auto kib = read_field(root / "proc/meminfo", key);
  if (!kib) return std::nullopt;
  return *kib * core::KiB;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored))
    entries.push_back(at->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

bool Cpu::has(const std::string& flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

Cpu cpu(const fs::path& root) {
  Cpu found;
  const std::string text = read_text(root / "proc/cpuinfo").value_or("");
  found.model = value_of(text, "model name");
  std::istringstream flags(value_of(text, "flags").value_or(""));
  for (std::string flag; flags >> flag;) found.flags.push_back(flag);
  return found;
}

int scheduled_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));  // over 1024 CPUs
}

int usable_cores(const fs::path& root) {
  const int scheduled = scheduled_cores();
  const auto quota = cgroup_cpu_quota(root);
  // Rounded up: half a core's quota still needs a thread to use it.
  return quota && *quota < scheduled ? std::max(1, static_cast<int>(std::ceil(*quota))) : scheduled;
}

Memory memory(const fs::path& root) {
  Memory found;
  found.total = meminfo(root, "MemTotal");
  found.available = meminfo(root, "MemAvailable");
  if (!found.available) found.available = meminfo(root, "MemFree");
  found.free = found.available;
  if (const auto group = cgroup_memory(root)) {
    found.cgroup_limit = group->limit;
    found.free = std::min(found.free.value_or(group->available), group->available);
  }
  return found;
}

std::vector<std::string> nvidia_gpus(const fs::path& root) {
  std::vector<std::string> gpus;
  for (const fs::path& gpu : sorted_entries(root / "proc/driver/nvidia/gpus"))
    gpus.push_back(value_of(read_text(gpu / "information").value_or(""), "Model")
                       .value_or("NVIDIA GPU " + gpu.filename().string()));
  if (!gpus.empty()) return gpus;
  for (const fs::path& device : sorted_entries(root / "dev")) {
    const std::string name = device.filename().string();
    if (name.size() > 6 && name.compare(0, 6, "nvidia") == 0 &&
        name.find_first_not_of("0123456789", 6) == name.npos)
      gpus.push_back("/dev/" + name);
  }
  return gpus;
}

}  // namespace sweetspot::probe::proc
