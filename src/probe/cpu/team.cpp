#include "probe/cpu/team.h"

#include <thread>
#include <vector>

#include "probe/cpu/affinity.h"

namespace sweetspot::probe::cpu {

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
