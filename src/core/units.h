#pragma once
#include <chrono>
#include <cstdint>

namespace sweetspot::core {

using Bytes = std::uint64_t;
using Seconds = std::chrono::duration<double>;

constexpr Bytes KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

}  // namespace sweetspot::core
