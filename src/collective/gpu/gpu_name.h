#pragma once
#include <string>

namespace sweetspot::collective {

// The same for two ranks if and only if they are on the same GPU: its machine and its bus.
std::string gpu_name(int gpu);

}  // namespace sweetspot::collective
