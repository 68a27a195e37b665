#include "workload/command/process/peak_memory.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "workload/command/process/descriptor.h"

namespace sweetspot::workload::command::process {
namespace {

// Reading PSS walks the page tables of the process, which blocks it if it maps memory at that
// moment: at most one part in 200 of the time may go into it.
constexpr double most_share = 1.0 / 200;

std::optional<core::Bytes> pss(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  const auto kib = text ? field(*text, "Pss") : std::nullopt;
  if (!kib) return std::nullopt;
  return *kib * core::KiB;
}

core::Bytes rss(pid_t pid) {
  std::istringstream pages(read_file("/proc/" + std::to_string(pid) + "/statm").value_or(""));
  core::Bytes size = 0, resident = 0;
  pages >> size >> resident;
  return resident * static_cast<core::Bytes>(sysconf(_SC_PAGESIZE));
}

// File pages stay in memory while there is no pressure; they are charged to the group, but the
// program does not need them there. What it shares through tmpfs, it does need.
core::Bytes page_cache(const CgroupPlace& place) {
  const std::string text = read_file(place.folder + "/memory.stat").value_or("");
  const auto value = [&](const char* v2, const char* v1) {
    return field(text, place.version == 2 ? v2 : v1).value_or(0);
  };
  const core::Bytes files = value("file", "total_cache"), shared = value("shmem", "total_shmem");
  return files - std::min(files, shared);
}

}  // namespace

PeakMemory::PeakMemory(const Tree& tree, const Cgroup* cgroup)
    : members_([&tree] { return tree.members(); }),
      cgroup_(cgroup && cgroup->accounts_memory() ? cgroup : nullptr) {}

PeakMemory::PeakMemory(std::function<std::vector<pid_t>()> members)
    : members_(std::move(members)), cgroup_(nullptr) {}

void PeakMemory::sample() {
  if (cgroup_) {
    sample_cgroup();
  } else if (!peak_ || now_seconds() >= next_seconds_) {  // a trial has at least one reading
    sample_processes();
  }
}

void PeakMemory::sample_last() {
  next_seconds_ = 0;
  sample();
}

void PeakMemory::note(core::Bytes bytes, const std::string& how) {
  if (!peak_ || bytes >= peak_->peak) peak_ = {bytes, how};
}

void PeakMemory::sample_cgroup() {
  const bool v2 = cgroup_->place().version == 2;
  const std::string& folder = cgroup_->place().folder;
  const core::Bytes cache = page_cache(cgroup_->place());
  most_cache_ = std::max(most_cache_, cache);
  const auto current = read_number(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  const auto peak = read_number(folder + (v2 ? "/memory.peak" : "/memory.max_usage_in_bytes"));
  const auto less = [](core::Bytes a, core::Bytes b) { return a - std::min(a, b); };
  // The kernel's peak misses nothing but includes the page cache of that moment, which is unknown:
  // minus the largest observed one, it is too low at worst, and so is every sample. The larger is
  // closer; without page cache both are exact.
  const core::Bytes found =
      std::max(less(current.value_or(0), cache), less(peak.value_or(0), most_cache_));
  const std::string version = v2 ? "cgroup v2 " : "cgroup v1 ";
  if (peak)
    note(found, version + (v2 ? "memory.peak" : "max_usage_in_bytes") + " less page cache");
  else
    note(found, version + "memory.current less page cache, sampled");  // before Linux 5.19
}

void PeakMemory::sample_processes() {
  const double start = now_seconds();
  core::Bytes sum = 0;
  bool all_pss = true;
  for (const pid_t pid : members_()) {
    const auto share = pss(pid);
    const core::Bytes resident = share ? 0 : rss(pid);
    all_pss = all_pss && resident == 0;  // one that has just ended has neither
    sum += share ? *share : resident;
  }
  if (sum > 0) note(sum, all_pss ? "sum of PSS over the tree" : "sum of RSS over the tree");
  const double end = now_seconds();
  next_seconds_ = end + (end - start) / most_share;
}

}  // namespace sweetspot::workload::command::process
