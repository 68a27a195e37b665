#include "probe/amd/amd.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <sstream>

#include "probe/text_file.h"

namespace sweetspot::probe::amd {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is the machine's own");

// Format 1.3 of the table is the first whose reasons mean the same on every chip: at this offset,
// electrical ones in the lower half, temperatures in the 24 bits above, then others.
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

namespace {

namespace fs = std::filesystem;

constexpr const char* amd_vendor = "0x1002";

std::string first_line(const fs::path& file) {
  const std::string text = read_text(file).value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<double> scaled(std::optional<std::uint64_t> value, double factor) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * factor;
}

// "0: 500Mhz\n1: 1900Mhz *\n": the line with the star is the one in use.
std::optional<std::int64_t> clock_in(const fs::path& file) {
  std::istringstream lines(read_text(file).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.find('*') == line.npos || colon == line.npos) continue;
    std::int64_t mhz = 0;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + colon + 2, end, mhz).ec == std::errc{}) return mhz;
  }
  return std::nullopt;
}

// The device's own folder of sensors: its number differs from boot to boot.
fs::path sensors_of(const fs::path& device) {
  std::error_code none;
  for (fs::directory_iterator at(device / "hwmon", none), end; at != end; at.increment(none))
    if (at->path().filename().string().starts_with("hwmon")) return at->path();
  return device / "hwmon";
}

std::string bus_of(const fs::path& device) {
  constexpr std::string_view key = "PCI_SLOT_NAME=";
  std::istringstream lines(read_text(device / "uevent").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return "";
}

class Device final : public gpu::Gpu {
 public:
  Device(const fs::path& root, fs::path folder)
      : folder_(std::move(folder)), sensors_(sensors_of(folder_)) {
    identity_.vendor = "AMD";
    identity_.name = first_line(folder_ / "product_name");
    if (identity_.name.empty()) identity_.name = "AMD GPU " + first_line(folder_ / "device");
    identity_.uuid = first_line(folder_ / "unique_id");
    identity_.bus_id = bus_of(folder_);
    identity_.driver = first_line(root / "sys/module/amdgpu/version");
  }

  const gpu::Identity& identity() const override { return identity_; }

  gpu::Reading read() const override {
    gpu::Reading reading;
    reading.utilisation_share = scaled(read_number(folder_ / "gpu_busy_percent"), 0.01);
    reading.memory_busy_share = scaled(read_number(folder_ / "mem_busy_percent"), 0.01);
    reading.memory_used = read_number(folder_ / "mem_info_vram_used");
    reading.memory_total = read_number(folder_ / "mem_info_vram_total");
    // In microwatts; which of the two there is depends on the chip.
    auto power = read_number(sensors_ / "power1_average");
    if (!power) power = read_number(sensors_ / "power1_input");
    reading.power_watts = scaled(power, 1e-6);
    reading.power_limit_watts = scaled(read_number(sensors_ / "power1_cap"), 1e-6);
    reading.temperature_celsius = scaled(read_number(sensors_ / "temp1_input"), 1e-3);
    reading.core_clock_mhz = clock_in(folder_ / "pp_dpm_sclk");
    reading.memory_clock_mhz = clock_in(folder_ / "pp_dpm_mclk");
    reading.throttle = throttle_in(read_text(folder_ / "gpu_metrics").value_or(""));
    return reading;
  }

  std::optional<double> energy_joules() const override { return std::nullopt; }
  std::optional<std::vector<gpu::Process>> processes() const override { return std::nullopt; }

 private:
  fs::path folder_, sensors_;
  gpu::Identity identity_;
};

// "card0", but not its connectors "card0-DP-1".
bool is_card(const std::string& name) {
  return name.starts_with("card") && name.size() > 4 &&
         std::all_of(name.begin() + 4, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

gpu::Found find(const fs::path& root) {
  std::vector<fs::path> devices;
  std::error_code none;
  for (fs::directory_iterator at(root / "sys/class/drm", none), end; at != end; at.increment(none))
    if (is_card(at->path().filename().string()) &&
        first_line(at->path() / "device/vendor") == amd_vendor)
      devices.push_back(at->path() / "device");
  std::ranges::sort(devices);
  gpu::Found found;
  for (const fs::path& device : devices)
    found.gpus.push_back(std::make_unique<Device>(root, device));
  if (found.gpus.empty()) found.reason = "the amdgpu driver shows no GPU";
  return found;
}

}  // namespace sweetspot::probe::amd
