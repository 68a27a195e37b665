#include "probe/proc/scheduling.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "probe/proc/host.h"
#include "probe/proc/own_use.h"

namespace sweetspot::probe::proc {
namespace {

// "487532 1584575 2": nanoseconds on a CPU, in a run queue, and the number of time slices. Without
// streams: it is read before and after every block of steps, for every thread.
bool add_thread(int file, Scheduling& sum) {
  std::array<char, 64> text{};
  if (read(file, text.data(), text.size() - 1) <= 0) return false;
  char* rest = nullptr;
  sum.ran_seconds += static_cast<double>(std::strtoull(text.data(), &rest, 10)) / 1e9;
  sum.waited_seconds += static_cast<double>(std::strtoull(rest, nullptr, 10)) / 1e9;
  return true;
}

// False if none was counted.
bool add_process(const std::filesystem::path& process, Scheduling& sum) {
  DIR* const threads = opendir((process / "task").c_str());
  if (!threads) return false;
  bool any = false;
  while (const dirent* const thread = readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const std::string name = std::string(thread->d_name) + "/schedstat";
    const int file = openat(dirfd(threads), name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;  // it may have ended meanwhile
    any |= add_thread(file, sum);
    close(file);
  }
  closedir(threads);
  return any;
}

}  // namespace

std::optional<Scheduling> own_scheduling(const std::filesystem::path& root) {
  Scheduling sum;
  bool any = false;
  if (counts_caller_as_own())
    for (const std::string& process : own_processes(root))
      any |= add_process(root / "proc" / process, sum);
  else
    any = add_process(root / "proc/self", sum);
  if (!any) return std::nullopt;
  static const int cores = usable_cores();
  sum.cores = cores;
  return sum;
}

double taken_by_others(const Scheduling& before, const Scheduling& after, double seconds) {
  if (!(seconds > 0)) return 0;
  const double waited = after.waited_seconds - before.waited_seconds;
  const double left = after.cores * seconds - (after.ran_seconds - before.ran_seconds);
  return std::max(0.0, std::min(waited, left)) / seconds;
}

}  // namespace sweetspot::probe::proc
