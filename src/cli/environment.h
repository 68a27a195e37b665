#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "advise/advise.h"
#include "workload/native/device.h"
#include "workload/native/options.h"

namespace sweetspot::cli {

// What every result contains: the program, the machine and what of it was used.
nlohmann::ordered_json environment(int threads, const workload::native::Device& device = {});

nlohmann::ordered_json gpu_json(const engine::cuda::Device& gpu);
std::string cuda_version(int version);  // 13000: "13.0"

// The peak of the device of these options: a CPU's as measured by `doctor`, a GPU's as rated at its
// clocks, in the precision of the options.
advise::Roofline device_roofline(const workload::native::Options& options);

}  // namespace sweetspot::cli
