#pragma once
#include <cstdint>
#include <string_view>

namespace sweetspot::report::tensorboard {

// CRC-32C (Castagnoli), as iSCSI and TFRecord use it: "123456789" gives 0xe3069283.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace sweetspot::report::tensorboard
