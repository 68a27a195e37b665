#pragma once
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "probe/gpu/gpu.h"

namespace sweetspot::workload::command::gpu {

// A GPU of this machine, or one of the instances (MIG) that it is divided into.
struct Device {
  std::string name;  // "cuda:0" by the driver's number, "cuda:0:1" of an instance
  std::shared_ptr<const probe::gpu::Gpu> gpu;
};

// All that a program might use. They are looked for on a thread: a driver may take seconds to wake
// up, and most programs run where there is none.
class Gpus {
 public:
  Gpus();
  // Those that there are, where that is known within so long; else nothing yet.
  const std::vector<Device>* within(core::Seconds time) const;

 private:
  std::shared_future<std::vector<Device>> found_;
};

}  // namespace sweetspot::workload::command::gpu
