#include "probe/amd/amd.h"

#include <gtest/gtest.h>

#include <fstream>

#include "probe/powercap/energy.h"
#include "temporary_folder.h"

namespace sweetspot::probe {
namespace {

namespace fs = std::filesystem;

struct MadeTree : testing::Test {
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root.path() / file).parent_path());
    std::ofstream(root.path() / file, std::ios::binary) << text;
  }
  tests::TemporaryFolder root;
};

struct Amd : MadeTree {
  void write_gpu(const std::string& card) const {
    const fs::path device = "sys/class/drm/" + card + "/device";
    write(device / "vendor", "0x1002\n");
    write(device / "device", "0x740f\n");
    write(device / "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\n");
    write(device / "gpu_busy_percent", "81\n");
    write(device / "mem_info_vram_used", "1024\n");
    write(device / "mem_info_vram_total", "4096\n");
    write(device / "pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n2: 2100Mhz\n");
    write(device / "hwmon/hwmon5/power1_average", "250500000\n");
    write(device / "hwmon/hwmon5/power1_cap", "300000000\n");
    write(device / "hwmon/hwmon5/temp1_input", "61000\n");
  }
  // A table of format 1.3 with these reasons.
  static std::string metrics(unsigned long long reasons) {
    std::string table(120, '\0');
    table[0] = 120, table[2] = 1, table[3] = 3;
    for (std::size_t i = 0; i < 8; ++i) table[112 + i] = static_cast<char>(reasons >> 8 * i);
    return table;
  }
};

TEST_F(Amd, NothingInAnEmptyTree) {
  const gpu::Found found = amd::find(root.path());
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_NE(found.reason, "");
}

TEST_F(Amd, OthersDevicesAndConnectorsAreLeftOut) {
  write("sys/class/drm/card0/device/vendor", "0x8086\n");
  write("sys/class/drm/card1-DP-1/device/vendor", "0x1002\n");
  write("sys/class/drm/renderD128/device/vendor", "0x1002\n");
  EXPECT_TRUE(amd::find(root.path()).gpus.empty());
}

TEST_F(Amd, ReadsWhatIsThere) {
  write_gpu("card1");
  write("sys/module/amdgpu/version", "6.8.5\n");
  const gpu::Found found = amd::find(root.path());
  ASSERT_EQ(found.gpus.size(), 1u);
  const gpu::Gpu& gpu = *found.gpus[0];
  EXPECT_EQ(gpu.identity().vendor, "AMD");
  EXPECT_EQ(gpu.identity().name, "AMD GPU 0x740f");
  EXPECT_EQ(gpu.identity().bus_id, "0000:c1:00.0");
  EXPECT_EQ(gpu.identity().driver, "6.8.5");
  gpu::Reading reading = gpu.read();
  EXPECT_EQ(reading.utilisation_share, 0.81);
  EXPECT_EQ(reading.memory_used, 1024u);
  EXPECT_EQ(reading.memory_total, 4096u);
  EXPECT_EQ(reading.power_watts, 250.5);
  EXPECT_EQ(reading.power_limit_watts, 300);
  EXPECT_EQ(reading.temperature_celsius, 61);
  EXPECT_EQ(reading.core_clock_mhz, 1700);
  EXPECT_FALSE(reading.memory_clock_mhz);
  EXPECT_FALSE(reading.memory_busy_share);
  EXPECT_FALSE(reading.throttle);
  EXPECT_FALSE(gpu.processes());
  EXPECT_FALSE(gpu.energy_joules());
  fs::remove_all(root.path() / "sys/class/drm/card1");  // unplugged
  reading = gpu.read();
  EXPECT_FALSE(reading.utilisation_share);
  EXPECT_FALSE(reading.power_watts);
}

TEST_F(Amd, PrefersItsNameAndFallsBackToTheMomentsPower) {
  write_gpu("card0");
  write("sys/class/drm/card0/device/product_name", "AMD Instinct MI210\n");
  fs::remove(root.path() / "sys/class/drm/card0/device/hwmon/hwmon5/power1_average");
  write("sys/class/drm/card0/device/hwmon/hwmon5/power1_input", "99000000\n");
  const gpu::Found found = amd::find(root.path());
  EXPECT_EQ(found.gpus.at(0)->identity().name, "AMD Instinct MI210");
  EXPECT_EQ(found.gpus.at(0)->read().power_watts, 99);
}

TEST_F(Amd, SaysWhatHoldsTheClocksBack) {
  write_gpu("card0");
  const auto throttle = [&](const std::string& table) {
    write("sys/class/drm/card0/device/gpu_metrics", table);
    return amd::find(root.path()).gpus.at(0)->read().throttle;
  };
  EXPECT_EQ(words(throttle(metrics(0)).value()), "");
  EXPECT_EQ(words(throttle(metrics(1)).value()), "power cap");
  EXPECT_EQ(words(throttle(metrics(1ull << 34)).value()), "thermal slowdown");
  EXPECT_EQ(words(throttle(metrics(1ull << 56)).value()), "hardware slowdown");
  std::string other = metrics(1);
  other[3] = 1;
  EXPECT_FALSE(throttle(other)) << "an older table's reasons differ from chip to chip";
  EXPECT_FALSE(throttle(metrics(1).substr(0, 100)));
}

TEST_F(Amd, ALineOfClocksThatMakesNoSenseIsNothing) {
  write_gpu("card0");
  for (const char* text : {"", "*", "1: fast *\n", "0: 500Mhz\n"}) {
    write("sys/class/drm/card0/device/pp_dpm_sclk", text);
    EXPECT_FALSE(amd::find(root.path()).gpus.at(0)->read().core_clock_mhz) << text;
  }
}

struct Rapl : MadeTree {
  void write_zone(const std::string& zone, const std::string& name, const char* energy) const {
    write("sys/class/powercap/" + zone + "/name", name + "\n");
    write("sys/class/powercap/" + zone + "/energy_uj", energy);
    write("sys/class/powercap/" + zone + "/max_energy_range_uj", "1000000000");
  }
};

TEST_F(Rapl, IsUnknownWhereThereIsNone) { EXPECT_FALSE(powercap::Energy(root.path()).joules()); }

TEST_F(Rapl, AddsUpThePackagesSinceItWasMade) {
  write_zone("intel-rapl:0", "package-0", "5000000");
  write_zone("intel-rapl:1", "package-1", "999000000");
  write_zone("intel-rapl:0:0", "core", "1");
  write_zone("intel-rapl:2", "psys", "1");
  powercap::Energy energy(root.path());
  EXPECT_EQ(energy.joules(), 0);
  write_zone("intel-rapl:0", "package-0", "7000000");
  write_zone("intel-rapl:1", "package-1", "2000000");  // the counter wrapped
  write_zone("intel-rapl:0:0", "core", "900000000");
  write_zone("intel-rapl:2", "psys", "900000000");
  EXPECT_NEAR(energy.joules().value(), 2 + 3, 1e-9);
  EXPECT_NEAR(energy.joules().value(), 5, 1e-9);
  fs::remove_all(root.path() / "sys/class/powercap/intel-rapl:1");
  EXPECT_FALSE(energy.joules());
}

}  // namespace
}  // namespace sweetspot::probe
