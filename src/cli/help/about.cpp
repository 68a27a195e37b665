#include "cli/help/about.h"

#include <fmt/format.h>

#include <string_view>

#include "engine/cpu/cpu.h"

namespace sweetspot::cli {
namespace {

namespace built {
#include "built_with.inc"
constexpr std::string_view notice =
#include "NOTICE.inc"
    ;
constexpr std::string_view license =
#include "LICENSE.inc"
    ;
#if defined(__clang__)
constexpr std::string_view compiler = "Clang " __clang_version__;
#else
constexpr std::string_view compiler = "GCC " __VERSION__;
#endif
}  // namespace built

}  // namespace

const char* commit() {
  return
#include "commit.inc"
      ;
}

std::string version_line() {
  return fmt::format("sweetspot {} ({}, {})", SWEETSPOT_VERSION, commit(), SWEETSPOT_BUILD_TYPE);
}

std::string version_text() {
  return fmt::format(
      "{}\ncompiler: {}, for {}\nCPU engine: {}, no oneDNN\nGPU engine: {}\nlibraries: {}",
      version_line(), built::compiler, built::processor, engine::cpu::backend().library,
      built::cuda.empty() ? "none, built without CUDA" : built::cuda, built::libraries);
}

std::string licenses_text() { return fmt::format("{}\n{}", built::notice, built::license); }

}  // namespace sweetspot::cli
