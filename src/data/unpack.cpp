#include "data/unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"
#include "data/byte_stream.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
using core::InputError;

class OutputFile {
 public:
  explicit OutputFile(const fs::path& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (!file_) fail();
  }
  void write(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.number(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw core::MachineError(fmt::format("cannot write {}: {}; check that the disk is not full",
                                         core::printable(path_.string()),
                                         std::generic_category().message(errno)));
  }
  fs::path path_;
  core::Descriptor file_;
};

[[noreturn]] void fail(const fs::path& archive, const std::string& what) {
  throw InputError(
      fmt::format("{} {}; get the file again", core::printable(archive.string()), what));
}

// POSIX's "ustar" header; only these fields matter here.
constexpr std::size_t block_size = 512;
using Header = std::array<std::uint8_t, block_size>;

std::string_view text_at(const Header& header, std::size_t at, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(header.data()) + at, size);
  return all.substr(0, all.find('\0'));
}

std::optional<core::Bytes> octal_at(const Header& header, std::size_t at, std::size_t size) {
  core::Bytes number = 0;
  bool any = false;
  for (const char c : text_at(header, at, size)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7') return std::nullopt;
    number = number * 8 + static_cast<core::Bytes>(c - '0');
    any = true;
  }
  return any ? std::optional(number) : std::nullopt;
}

bool is_regular(const Header& header) { return header[156] == '0' || header[156] == '\0'; }

bool is_sum_right(const Header& header) {
  core::Bytes sum = 0;
  for (std::size_t i = 0; i < block_size; ++i)
    sum += i >= 148 && i < 156 ? ' ' : header[i];  // the checksum field counts as blanks
  return octal_at(header, 148, 8) == sum;
}

class TarReader {
 public:
  explicit TarReader(const fs::path& archive) : archive_(archive), stream_(open_stream(archive)) {}

  // The next entry's header; nullopt at the end.
  std::optional<Header> next() {
    Header header{};
    const std::size_t count = stream_->read(header);
    if (count == 0 || std::ranges::all_of(header, [](std::uint8_t byte) { return byte == 0; }))
      return std::nullopt;
    if (count != block_size || !is_sum_right(header)) fail(archive_, "is no tar archive");
    return header;
  }

  core::Bytes size(const Header& header) const {
    const auto size = octal_at(header, 124, 12);
    if (!size) fail(archive_, "is a damaged tar archive");
    return *size;
  }

  // The content of an entry, rounded up to whole blocks, into the file or discarded.
  void pass(core::Bytes size, OutputFile* into) {
    std::vector<std::uint8_t> piece(core::MiB);
    core::Bytes left = (size + block_size - 1) / block_size * block_size;
    while (left > 0) {
      const std::size_t want = std::min<core::Bytes>(left, piece.size());
      if (stream_->read({piece.data(), want}) != want)
        fail(archive_, "ends in the middle of a file");
      const std::size_t keep = std::min<core::Bytes>(size, want);
      if (into) into->write({piece.data(), keep});
      size -= keep;
      left -= want;
    }
  }

 private:
  fs::path archive_;
  std::unique_ptr<ByteStream> stream_;
};

}  // namespace

void unpack_gzip(const fs::path& from, const fs::path& to, core::Bytes most) {
  const std::unique_ptr<ByteStream> stream = open_stream(from);
  OutputFile out(to);
  std::vector<std::uint8_t> piece(core::MiB);
  core::Bytes done = 0;
  while (const std::size_t count = stream->read(piece)) {
    done += count;
    if (done > most) fail(from, "holds more than the published file");
    out.write({piece.data(), count});
  }
}

std::size_t unpack_tar(const fs::path& archive, const std::map<std::string, core::Bytes>& wanted,
                       const fs::path& folder) {
  TarReader reader(archive);
  std::size_t taken = 0;
  while (const std::optional<Header> header = reader.next()) {
    const core::Bytes size = reader.size(*header);
    const std::string_view path = text_at(*header, 0, 100);
    const auto found = wanted.find(std::string(path.substr(path.rfind('/') + 1)));
    if (found == wanted.end() || !is_regular(*header)) {
      reader.pass(size, nullptr);
      continue;
    }
    if (size > found->second)
      fail(archive, fmt::format("has a {} larger than the published one", found->first));
    OutputFile out(folder / found->first);
    reader.pass(size, &out);
    ++taken;
  }
  return taken;
}

}  // namespace sweetspot::data
