#include "cli/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_values.h"

namespace sweetspot::cli {

void Output::print(std::string_view text) {
  if (error_) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    error_ = errno ? errno : EIO;
}

void Output::print_json(const nlohmann::ordered_json& result) {
  print(core::json_text(result, 2) + "\n");
}

void Output::finish() {
  if (error_ == 0) return;
  // `sweetspot … | head` is not worth an error message.
  if (error_ == EPIPE) throw core::MachineError("");
  throw core::MachineError(
      fmt::format("the result could not be written to stdout ({}); free space "
                  "or send it elsewhere",
                  std::strerror(error_)));
}

void Output::talk(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

namespace {

constexpr int schema_version = 1;

}  // namespace

nlohmann::ordered_json result_object() { return {{"schema_version", schema_version}}; }

}  // namespace sweetspot::cli
