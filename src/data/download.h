#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "core/units.h"

namespace sweetspot::data {

struct DownloadLimits {
  std::chrono::seconds connect{5};
  std::chrono::seconds stall{20};  // below one kilobyte per second
};

// Downloads `url` (HTTPS, or HTTP if it says so) into `file`, which must have `size` bytes,
// resuming an earlier part. Follows redirects, from HTTPS only to HTTPS; honours the proxy
// variables and SSL_CERT_FILE. Returns "" if the file is complete, else the reason, for users: what
// arrived is kept, unless it was more than it should be. MachineError if the file cannot be
// written. `progress` receives the bytes so far; it may be empty.
std::string download(const std::string& url, const std::filesystem::path& file, core::Bytes size,
                     const std::function<void(core::Bytes)>& progress,
                     const DownloadLimits& limits = {});

}  // namespace sweetspot::data
