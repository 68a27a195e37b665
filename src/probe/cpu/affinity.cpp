#include "probe/cpu/affinity.h"

#include <sched.h>

namespace sweetspot::probe::cpu {

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
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace sweetspot::probe::cpu
