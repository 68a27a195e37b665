#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "report/formats.h"

namespace sweetspot::report {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw core::MachineError(
      fmt::format("{} could not be written ({}); free space or name another "
                  "file, and run again: finished trials are kept",
                  core::printable(file.string()), std::strerror(error)));
}

// 0, or the error.
int write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    at += static_cast<std::size_t>(written);
  }
  return 0;
}

int write_to(const std::filesystem::path& file, const std::string& text, int flags) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) return errno;
  int error = write_all(descriptor, text);
  if (error == 0 && (flags & O_CREAT) && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) &&
      !std::filesystem::is_regular_file(file, ignored)) {  // /dev/stdout, a pipe
    if (const int error = write_to(file, text, 0)) fail(file, error);
    return;
  }
  const std::filesystem::path beside = fmt::format("{}.{}.part", file.string(), ::getpid());
  int error = write_to(beside, text, O_CREAT | O_TRUNC);
  if (error == 0 && std::rename(beside.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(beside.c_str());
  fail(file, error);
}

void check_can_write(const std::filesystem::path& file, const std::string& flag) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const bool possible = std::filesystem::is_directory(folder) && file.has_filename() &&
                        !std::filesystem::is_directory(file) &&
                        ::access(folder.c_str(), W_OK | X_OK) == 0;
  const bool special = std::filesystem::exists(file) && ::access(file.c_str(), W_OK) == 0 &&
                       !std::filesystem::is_directory(file);
  if (possible || special) return;
  throw core::InputError(
      fmt::format("{} {} cannot be written there; name a file in a folder that "
                  "exists and is yours",
                  flag, core::printable(file.string())));
}

}  // namespace sweetspot::report
