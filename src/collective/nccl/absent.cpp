// For builds without the CUDA toolkit.
#include "collective/nccl/nccl.h"
#include "core/error.h"

namespace sweetspot::collective {

std::optional<std::string> nccl_lack() {
  return "this sweetspot was built without CUDA; build it where the CUDA toolkit is";
}

NcclId make_nccl_id() { throw core::InputError(*nccl_lack()); }

std::unique_ptr<Group> join_nccl(const NcclId&, int, int, int) {
  throw core::InputError(*nccl_lack());
}

}  // namespace sweetspot::collective
