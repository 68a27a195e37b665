#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "advise/advise.h"
#include "workload/native/device.h"
#include "workload/native/options.h"

namespace sweetspot::cli {

// What every result carries: the program, the machine and what of it was used.
nlohmann::ordered_json environment(int threads, const workload::native::Device& device = {});

nlohmann::ordered_json gpu_json(const engine::cuda::Device& gpu);
std::string cuda_version(int version);  // 13000: "13.0"

// What the device of these options can do at most: a CPU's as `doctor` measured it, a GPU's as its
// clocks rate it, in the precision of the options.
advise::Roofline device_roofline(const workload::native::Options& options);

}  // namespace sweetspot::cli
