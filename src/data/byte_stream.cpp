#include "data/byte_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "data/files.h"

namespace sweetspot::data {
namespace {

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

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(const std::filesystem::path& path)
      : path_(path),
        file_(path),
        limit_(std::max<core::Bytes>(always_allowed, file_.size() * max_expansion)) {
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
  std::size_t inflate_some(std::span<std::uint8_t> out) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    const auto size = static_cast<uInt>(std::min(out.size(), most));
    refill();
    zlib_.next_out = out.data();
    zlib_.avail_out = size;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_BUF_ERROR) fail("ends in the middle of its gzip data");
    if (result != Z_OK && result != Z_STREAM_END)
      fail(fmt::format("is corrupt gzip ({})", zlib_.msg ? zlib_.msg : "no end of data"));
    if (result == Z_STREAM_END) finish_member();
    return size - zlib_.avail_out;
  }

  // A gzip file may consist of several members.
  void finish_member() {
    refill();
    ended_ = zlib_.avail_in == 0;
    if (!ended_ && inflateReset(&zlib_) != Z_OK) fail("is corrupt gzip");
  }

  void refill() {
    if (zlib_.avail_in > 0) return;
    zlib_.next_in = compressed_.data();
    zlib_.avail_in = static_cast<uInt>(file_.read(compressed_));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw core::InputError(
        fmt::format("{} {}; get the file again", core::printable(path_.string()), what));
  }

  std::filesystem::path path_;
  InputFile file_;
  z_stream zlib_{};
  std::array<std::uint8_t, 64 * core::KiB> compressed_;
  core::Bytes limit_, inflated_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& file) {
  std::array<std::uint8_t, 2> first{};
  InputFile(file).read(first);
  if (first[0] == 0x1f && first[1] == 0x8b) return std::make_unique<GzipStream>(file);
  return std::make_unique<FileStream>(file);
}

}  // namespace sweetspot::data
