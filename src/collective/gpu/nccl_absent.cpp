// For builds without NCCL's header.
#include "collective/gpu/nccl.h"
#include "core/error.h"

namespace sweetspot::collective {

std::optional<std::string> nccl_lack() {
  return "this sweetspot was built without NCCL; build it where nccl.h is";
}

NcclId make_nccl_id() { throw core::InputError(*nccl_lack()); }

std::unique_ptr<GpuGroup> join_nccl(const NcclId&, int, int, int) {
  throw core::InputError(*nccl_lack());
}

}  // namespace sweetspot::collective
