#include "gpu_groups.h"

#include "collective/gpu/nccl.h"
#include "collective/gpu/through_host.h"
#include "collective/launcher.h"
#include "host_ranks.h"

namespace sweetspot::tests {

std::vector<GpuKind> gpu_kinds() {
  std::vector<GpuKind> kinds{
      {"through_host", [] { return collective::sum_through_host(host_ranks(), 0); }}};
  if (!collective::started_ranks() && !collective::nccl_lack())
    kinds.push_back({"nccl", [] { return collective::join_nccl(host_ranks(), 0); }});
  return kinds;
}

}  // namespace sweetspot::tests
