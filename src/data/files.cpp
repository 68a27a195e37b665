#include "data/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::data {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    : shown_path_(core::printable(path.string())), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (!file_ || fstat(file_.number(), &status) != 0) fail();
  size_ = static_cast<core::Bytes>(status.st_size);
}

std::size_t InputFile::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::read(file_.number(), out.data() + done, out.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void InputFile::fail() const {
  throw core::InputError(fmt::format("cannot read {}: {}; check the path and its permissions",
                                     shown_path_, reason(errno)));
}

std::string sha256_of_file(const std::filesystem::path& path) {
  InputFile file(path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(),
                                                                       EVP_MD_CTX_free);
  bool ok = digest && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  std::vector<std::uint8_t> piece(core::MiB);
  while (const std::size_t count = file.read(piece))
    ok = ok && EVP_DigestUpdate(digest.get(), piece.data(), count) == 1;
  std::array<unsigned char, 32> sum{};
  ok = ok && EVP_DigestFinal_ex(digest.get(), sum.data(), nullptr) == 1;
  if (!ok) throw core::MachineError("OpenSSL cannot compute SHA-256; check its installation");
  std::string text;
  for (const unsigned char byte : sum) text += fmt::format("{:02x}", byte);
  return text;
}

void sync_to_disk(const std::filesystem::path& path) {
  const core::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fsync(file.number()) != 0)
    throw core::MachineError(
        fmt::format("cannot write {} to the disk: {}; check that it is not full",
                    core::printable(path.string()), reason(errno)));
}

}  // namespace sweetspot::data
