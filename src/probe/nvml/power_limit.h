#pragma once
#include <optional>
#include <string>
#include <vector>

#include "probe/nvml/library.h"
#include "probe/nvml/nvml.h"

namespace sweetspot::probe::nvml {

// The power limit of one GPU, as set by `nvidia-smi -pl`. In the driver's milliwatts, so that our
// own value can be told from somebody else's.
class PowerLimit {
 public:
  PowerLimit(std::shared_ptr<const Library> library, unsigned index, Handle handle);

  unsigned index() const { return index_; }  // the driver's, which nvidia-smi -i takes
  const std::string& name() const { return name_; }
  const std::string& uuid() const { return uuid_; }
  const std::string& bus_id() const { return bus_id_; }

  struct Range {
    unsigned least_mw = 0, most_mw = 0;
  };
  // nullopt if this GPU has no settable limit.
  std::optional<Range> range() const;
  std::optional<unsigned> now_mw() const;
  Status set_mw(unsigned milliwatts) const;

 private:
  std::shared_ptr<const Library> library_;
  unsigned index_;
  Handle handle_;
  std::string name_, uuid_, bus_id_;
};

// Of every GPU that the driver lists; if none, `reason` says why, in one sentence.
struct PowerLimitsFound {
  std::vector<PowerLimit> gpus;
  std::string reason;
};
PowerLimitsFound power_limits(const std::string& file = default_library());

}  // namespace sweetspot::probe::nvml
