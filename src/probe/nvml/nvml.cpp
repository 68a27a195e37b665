#include "probe/nvml/nvml.h"

#include <cstdlib>

#include "probe/nvml/device.h"

namespace sweetspot::probe::nvml {

std::string default_library() {
  const char* given = std::getenv("SWEETSPOT_NVML");
  return given && *given ? given : "libnvidia-ml.so.1";
}

gpu::Found find(const std::string& file) {
  gpu::Found found;
  const auto library = Library::open(file, found.reason);
  if (!library) return found;
  unsigned count = 0, lost = 0;
  if (library->call().count(&count) != Status::ok) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Handle handle = nullptr;
    if (library->call().handle(i, &handle) == Status::ok)
      found.gpus.push_back(make_device(library, handle));
    else
      ++lost;
  }
  if (found.gpus.empty())
    found.reason = lost ? "the NVIDIA driver lost its GPU or may not show it; look at nvidia-smi"
                        : "the NVIDIA driver shows no GPU";
  return found;
}

}  // namespace sweetspot::probe::nvml
