#include "probe/amd/metrics.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace sweetspot::probe::amd {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is the machine's own");

// Format 1.3 of the table is the first with reasons that mean the same on every chip: at this
// place, electrical ones in the lower half, temperatures in the 24 bits above, then others.
constexpr std::uint8_t format = 1, first_content = 3;
constexpr std::size_t reasons_at = 112, table_bytes = 120;
constexpr std::uint64_t electrical = 0xffffffff, temperatures = std::uint64_t{0xffffff} << 32;

}  // namespace

std::optional<gpu::Throttle> throttle_in(std::string_view gpu_metrics) {
  if (gpu_metrics.size() < table_bytes) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(gpu_metrics[i]); };
  if (byte(2) != format || byte(3) != first_content) return std::nullopt;
  std::uint64_t reasons = 0;
  std::memcpy(&reasons, gpu_metrics.data() + reasons_at, sizeof reasons);
  gpu::Throttle throttle;
  throttle.power_cap = reasons & electrical;
  throttle.thermal = reasons & temperatures;
  throttle.hardware = reasons & ~(electrical | temperatures);
  return throttle;
}

}  // namespace sweetspot::probe::amd
