#pragma once
#include <optional>
#include <string>

namespace sweetspot::energy {

// The power limits of the GPUs that trials run on. The original ones are restored when this object,
// or the whole process, is gone.
class PowerLimits {
 public:
  virtual ~PowerLimits() = default;
  // On each of them. core::Error if the driver refuses.
  virtual void set(double watts) = 0;
  // A description, if it is no longer what was set: somebody else has changed it.
  virtual std::optional<std::string> changed() = 0;
};

}  // namespace sweetspot::energy
