#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "core/units.h"

namespace sweetspot::data {

struct DownloadLimits {
  std::chrono::seconds connect{5};
  std::chrono::seconds stall{20};  // with less than a kilobyte a second
};

// Brings `url` (HTTPS, or HTTP where it says so) into `file`, which is to have `size` bytes, going
// on where a part of it ends. Redirections are followed, to HTTPS only from HTTPS; the proxy
// variables and SSL_CERT_FILE are used. Gives "" when the file has its size, or why it has not,
// for people: what came is kept, unless there was more of it than there should be. MachineError
// when the file cannot be written. `progress` hears of the bytes that are there; it may be empty.
std::string download(const std::string& url, const std::filesystem::path& file, core::Bytes size,
                     const std::function<void(core::Bytes)>& progress,
                     const DownloadLimits& limits = {});

}  // namespace sweetspot::data
