#include "data/byte_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

namespace sweetspot::data {
namespace {

using core::InputError;

class RawStream : public ByteStream {
 public:
  explicit RawStream(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// Images of handwriting shrink 5-fold; deflate can reach 1032-fold. Beyond both of these the file
// is made to fill memory, not to hold pictures.
constexpr std::uint64_t max_expansion = 200;
constexpr core::Bytes always_allowed = 64 * core::MiB;

class GzipStream : public ByteStream {
 public:
  GzipStream(std::span<const std::uint8_t> bytes, std::string_view source)
      : rest_(bytes),
        limit_(std::max<core::Bytes>(always_allowed, bytes.size() * max_expansion)),
        source_(source) {
    constexpr int gzip_only = 15 + 16;  // the largest window; zlib's own framing is refused
    if (inflateInit2(&zlib_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&zlib_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    // Once more after the last byte asked for, with no room, would not reach the checksum: the
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
    zlib_.next_in = const_cast<Bytef*>(rest_.data());  // zlib reads only
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

  // A gzip file may be several, one after the other.
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

}  // namespace

std::unique_ptr<ByteStream> open_stream(std::span<const std::uint8_t> bytes,
                                        std::string_view source) {
  const bool gzip = bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  if (gzip) return std::make_unique<GzipStream>(bytes, source);
  return std::make_unique<RawStream>(bytes);
}

}  // namespace sweetspot::data
