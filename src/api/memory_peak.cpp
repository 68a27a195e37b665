#include "api/memory_peak.h"

#include <malloc.h>

#include <fstream>

#include "probe/text_file.h"

namespace sweetspot::api {
namespace {

std::optional<core::Bytes> status_field(const char* key) {
  const auto kibibytes = probe::read_field("/proc/self/status", key);
  return kibibytes ? std::optional(*kibibytes * core::KiB) : std::nullopt;
}

}  // namespace

bool restart_peak_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // proc(5): "reset the peak resident set size"
  return file.good();
}

std::optional<core::Bytes> peak_memory() { return status_field("VmHWM"); }
std::optional<core::Bytes> memory_now() { return status_field("VmRSS"); }

}  // namespace sweetspot::api
