#include "probe/cpu/team.h"

#include <sched.h>

#include <thread>
#include <vector>

namespace sweetspot::probe::cpu {
namespace {

// The cores this process may use, from the one it is on: that one is surely not too busy for it.
std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  const int here = sched_getcpu();
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    const int core = (i + (here < 0 ? 0 : here)) % CPU_SETSIZE;
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);  // refused, it runs wherever the scheduler likes
}

}  // namespace

void run_apart(int threads, const std::function<void(int member)>& work) {
  const std::vector<int> cores = allowed_cores();
  std::vector<std::jthread> team;
  for (int member = 0; member < threads; ++member)
    team.emplace_back([&, member] {
      const auto place = static_cast<std::size_t>(member);
      if (place < cores.size()) stay_on(cores[place]);
      work(member);
    });
}

}  // namespace sweetspot::probe::cpu
