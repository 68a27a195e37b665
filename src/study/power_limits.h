#pragma once
#include <optional>
#include <string>

namespace sweetspot::study {

// The power limits of the GPUs that trials run on. What was there before is put back when this is
// gone, or the whole process.
class PowerLimits {
 public:
  virtual ~PowerLimits() = default;
  // Of each of them. core::Error when the driver will not.
  virtual void set(double watts) = 0;
  // In words, where it is no longer what was set: somebody else has changed it.
  virtual std::optional<std::string> changed() = 0;
};

}  // namespace sweetspot::study
