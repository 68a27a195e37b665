#include "data/byte_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "data/files.h"

namespace sweetspot::data {
namespace {

using core::InputError;

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }
  core::Bytes known_left() const override { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
};

// Directly from the file into the caller's memory, so that a raw data set is not held twice.
class FileStream : public ByteStream {
 public:
  explicit FileStream(const std::filesystem::path& path) : file_(path), left_(file_.size()) {}

  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t count = file_.read(out);
    left_ -= std::min<core::Bytes>(left_, count);  // the file may have grown
    return count;
  }
  core::Bytes known_left() const override { return left_; }

 private:
  InputFile file_;
  core::Bytes left_;
};

// Images of handwriting shrink 5-fold; deflate can reach 1032-fold. Beyond these the file is a
// bomb, not images.
constexpr std::uint64_t max_expansion = 200;
constexpr core::Bytes always_allowed = 64 * core::MiB;

constexpr core::Bytes max_compressed = 8 * core::GiB;

class GzipStream : public ByteStream {
 public:
  GzipStream(std::span<const std::uint8_t> bytes, std::string_view source)
      : rest_(bytes),
        limit_(std::max<core::Bytes>(always_allowed, bytes.size() * max_expansion)),
        source_(source) {
    constexpr int gzip_only = 15 + 16;  // the largest window; zlib's own framing is rejected
    if (inflateInit2(&zlib_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&zlib_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    // The checksum is not read here: a call without output space would not reach it, but the
    // caller's attempt to read past the end does.
    while (done < out.size() && !ended_) done += inflate_some(out.subspan(done));
    inflated_ += done;
    if (inflated_ > limit_)
      fail(fmt::format("expands more than {}-fold, as no image set does", max_expansion));
    return done;
  }

 private:
  static constexpr std::size_t max_piece = std::numeric_limits<uInt>::max();

  std::size_t inflate_some(std::span<std::uint8_t> out) {
    const auto in_size = static_cast<uInt>(std::min(rest_.size(), max_piece));
    const auto out_size = static_cast<uInt>(std::min(out.size(), max_piece));
    zlib_.next_in = const_cast<Bytef*>(rest_.data());  // zlib does not write to it
    zlib_.avail_in = in_size;
    zlib_.next_out = out.data();
    zlib_.avail_out = out_size;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    rest_ = rest_.subspan(in_size - zlib_.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_BUF_ERROR) fail("ends in the middle of its gzip data");
    if (result != Z_OK && result != Z_STREAM_END)
      fail(fmt::format("is corrupt gzip ({})", zlib_.msg ? zlib_.msg : "no end of data"));
    if (result == Z_STREAM_END) finish_member();
    return out_size - zlib_.avail_out;
  }

  // A gzip file may consist of several members.
  void finish_member() {
    ended_ = rest_.empty();
    if (!ended_ && inflateReset(&zlib_) != Z_OK) fail("is corrupt gzip");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{} {}; get the file again", core::printable(source_), what));
  }

  z_stream zlib_{};
  std::span<const std::uint8_t> rest_;
  core::Bytes limit_, inflated_ = 0;
  std::string source_;
  bool ended_ = false;
};

// Owns what it inflates.
class GzipFileStream : public ByteStream {
 public:
  explicit GzipFileStream(const std::filesystem::path& path)
      : bytes_(read_whole(path)), inflated_(bytes_, path.string()) {}

  std::size_t read(std::span<std::uint8_t> out) override { return inflated_.read(out); }

 private:
  static std::vector<std::uint8_t> read_whole(const std::filesystem::path& path) {
    InputFile file(path);
    if (file.size() > max_compressed)
      throw InputError(fmt::format(
          "{} is {}, more than the {} of compressed data that are held in memory; unpack it first",
          core::printable(path.string()), core::format_bytes(file.size()),
          core::format_bytes(max_compressed)));
    std::vector<std::uint8_t> bytes(file.size());
    bytes.resize(file.read(bytes));
    return bytes;
  }

  std::vector<std::uint8_t> bytes_;
  GzipStream inflated_;
};

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

std::unique_ptr<ByteStream> open_stream(std::span<const std::uint8_t> bytes,
                                        std::string_view source) {
  if (is_gzip(bytes)) return std::make_unique<GzipStream>(bytes, source);
  return std::make_unique<MemoryStream>(bytes);
}

std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& file) {
  std::array<std::uint8_t, 2> first{};
  InputFile(file).read(first);
  if (is_gzip(first)) return std::make_unique<GzipFileStream>(file);
  return std::make_unique<FileStream>(file);
}

}  // namespace sweetspot::data
