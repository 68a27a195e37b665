#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little,
              "safetensors holds little-endian numbers");

// safetensors readers expect the numbers to begin at a multiple of eight.
constexpr std::size_t header_alignment = 8;

std::string header_of(std::string_view model, std::span<const engine::Variable> variables) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "keras"}, {"model", model}};
  std::size_t offset = 0;
  for (const engine::Variable& variable : variables) {
    const std::size_t end = offset + variable.values.size() * sizeof(float);
    header[variable.parameter.name] = {
        {"dtype", "F32"}, {"shape", variable.parameter.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // A name that is not UTF-8 must not fail a run at its end.
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((header_alignment - text.size() % header_alignment) % header_alignment, ' ');
  return text;
}

[[noreturn]] void fail(const fs::path& file, int error) {
  throw core::MachineError(
      fmt::format("{} could not be written ({}); free space or pass another --save",
                  core::printable(file.string()), std::strerror(error)));
}

// A descriptor that closes itself.
class File {
 public:
  File(const fs::path& path, int flags, const fs::path& shown)
      : shown_(shown), descriptor_(::open(path.c_str(), flags, 0666)) {
    if (descriptor_ < 0) fail(shown, errno);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const void* data, std::size_t size) {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const ssize_t written = ::write(descriptor_, at, size);
      if (written < 0 && errno != EINTR) fail(shown_, errno);
      if (written > 0) at += written, size -= static_cast<std::size_t>(written);
    }
  }
  void sync() {
    // EINVAL: a pipe or a device, which has nothing to sync.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(shown_, errno);
  }

 private:
  const fs::path& shown_;  // the requested file, not its temporary name
  int descriptor_;
};

void write_to(const fs::path& path, int flags, const fs::path& shown, std::string_view model,
              std::span<const engine::Variable> variables) {
  const std::string header = header_of(model, variables);
  const std::uint64_t length = header.size();
  File out(path, flags, shown);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const engine::Variable& variable : variables)
    out.write(variable.values.data(), variable.values.size() * sizeof(float));
  out.sync();
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

void check_can_save(const fs::path& file) {
  std::error_code ignored;
  const std::string shown = core::printable(file.string());
  const fs::path folder = folder_of(file);
  if (file.empty() || !file.has_filename() || fs::is_directory(file, ignored))
    throw core::InputError(fmt::format("--save '{}' is a folder; pass the name of a file", shown));
  if (!fs::is_directory(folder, ignored))
    throw core::InputError(
        fmt::format("--save {} needs the folder {}, which does not exist; make it first", shown,
                    core::printable(folder.string())));
  if (::access(folder.c_str(), W_OK) != 0) fail(file, errno);
}

void save_weights(const fs::path& asked, std::string_view model,
                  std::span<const engine::Variable> variables) {
  std::error_code ignored;
  // Through a link to its target, so that the link stays.
  const fs::path file =
      fs::is_symlink(asked, ignored) ? fs::weakly_canonical(asked, ignored) : asked;
  // A device or a pipe is written to: it must not be replaced by a file.
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    return write_to(file, O_WRONLY | O_CLOEXEC, asked, model, variables);

  const fs::path temporary = fmt::format("{}.{}.part", file.string(), ::getpid());
  try {
    write_to(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, asked, model, variables);
    if (::rename(temporary.c_str(), file.c_str()) != 0) fail(asked, errno);
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
  File(folder_of(file), O_RDONLY | O_DIRECTORY | O_CLOEXEC, asked).sync();
}

}  // namespace sweetspot::workload::native
