#pragma once
#include <string>

#include "cli/snapshot.h"

namespace sweetspot::cli {

// Pieces that the block and the lines share; a dash where nothing is known.
std::string percent_words(const std::optional<double>& share);
std::string memory_words(const std::optional<core::Bytes>& used,
                         const std::optional<core::Bytes>& total);
std::string power_words(const probe::gpu::Reading& reading);  // "412 W of 700 W, 51 °C"
std::string clock_words(const probe::gpu::Reading& reading);  // "1,980 MHz, memory 3,201 MHz"
std::string waiting_words(const HostSnapshot& host);          // "CPU 12.3%, memory 0.0%, …"
std::string process_words(const GpuProcess& process);         // "4211 python: 19.2 GiB, 96%"
std::optional<core::Bytes> memory_used(const probe::proc::Memory& memory);

}  // namespace sweetspot::cli
