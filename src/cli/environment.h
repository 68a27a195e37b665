#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workload/native/device.h"

namespace sweetspot::cli {

// What every result carries: the program, the machine and what of it was used.
nlohmann::ordered_json environment(int threads, const workload::native::Device& device = {});

nlohmann::ordered_json gpu_json(const engine::cuda::Device& gpu);
std::string cuda_version(int version);  // 13000: "13.0"

}  // namespace sweetspot::cli
