#include "data/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "data/descriptor.h"

namespace sweetspot::data {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_reading(const std::filesystem::path& path, int error) {
  throw core::InputError(fmt::format("cannot read {}: {}; check the path and its permissions",
                                     core::printable(path.string()), reason(error)));
}

Descriptor open_to_read(const std::filesystem::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail_reading(path, errno);
  return file;
}

// As much as there is, up to the size of `out`.
std::size_t read_fully(const Descriptor& file, std::span<std::uint8_t> out,
                       const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = read(file.get(), out.data() + done, out.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_reading(path, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path, core::Bytes limit) {
  const Descriptor file = open_to_read(path);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_reading(path, errno);
  if (static_cast<core::Bytes>(status.st_size) > limit)
    throw core::InputError(fmt::format(
        "{} is {}, beyond the {} that are held in memory; use a smaller file",
        core::printable(path.string()),
        core::format_bytes(static_cast<core::Bytes>(status.st_size)), core::format_bytes(limit)));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  bytes.resize(read_fully(file, bytes, path));
  return bytes;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const Descriptor file = open_to_read(path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(),
                                                                       EVP_MD_CTX_free);
  bool ok = digest && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  std::vector<std::uint8_t> piece(core::MiB);
  while (const std::size_t count = read_fully(file, piece, path))
    ok = ok && EVP_DigestUpdate(digest.get(), piece.data(), count) == 1;
  std::array<unsigned char, 32> sum{};
  ok = ok && EVP_DigestFinal_ex(digest.get(), sum.data(), nullptr) == 1;
  if (!ok) throw core::MachineError("OpenSSL cannot compute SHA-256; check its installation");
  std::string text;
  for (const unsigned char byte : sum) text += fmt::format("{:02x}", byte);
  return text;
}

void sync_to_disk(const std::filesystem::path& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fsync(file.get()) != 0)
    throw core::MachineError(
        fmt::format("cannot write {} to the disk: {}; check that it is not full",
                    core::printable(path.string()), reason(errno)));
}

}  // namespace sweetspot::data
