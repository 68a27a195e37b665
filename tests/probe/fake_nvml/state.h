#pragma once
#include <vector>

#include "probe/nvml/api.h"

// What the fake driver library answers; a test reaches it through fake_nvml_state().
struct FakeNvml {
  using Status = sweetspot::probe::nvml::Status;
  Status init = Status::ok, count_status = Status::ok, handle = Status::ok;
  Status device = Status::ok;   // of every call about a device
  Status instant = Status::ok;  // of the one field
  Status setting = Status::ok;  // of the power limit
  unsigned limit_mw = 700'000;
  unsigned count = 1, mig = 0, gpu_percent = 37;
  unsigned long long clock_reasons = 0x4, energy_mj = 5'000'250;
  std::vector<sweetspot::probe::nvml::ProcessInfo> computing, drawing;
  std::vector<sweetspot::probe::nvml::ProcessUtilization> used;
  int starts = 0, stops = 0;
};
