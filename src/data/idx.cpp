#include "data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "data/byte_stream.h"

namespace sweetspot::data {
namespace {

using core::InputError;

// ImageNet at 64×64×3 is 15.7 GB; larger data sets are not meant to be held in memory.
constexpr core::Bytes max_values = 16 * core::GiB;
constexpr std::uint8_t unsigned_byte = 0x08;

// Checks while reading, so that every error names the file.
class IdxReader {
 public:
  IdxReader(ByteStream& stream, std::string_view source)
      : stream_(stream), source_(core::printable(source)) {}

  Idx read() {
    Idx idx;
    idx.shape.resize(read_rank());
    for (std::int64_t& size : idx.shape) size = read_dimension();
    read_values(value_count(idx.shape), idx.bytes);
    std::uint8_t extra = 0;
    // For gzip, this read also reaches the checksum at the end.
    if (stream_.read({&extra, 1}) != 0) fail("has bytes beyond what its header declares");
    return idx;
  }

 private:
  std::size_t read_rank() {
    std::array<std::uint8_t, 4> magic{};
    require(magic);
    if (magic[0] != 0 || magic[1] != 0) fail("is not an IDX file (wrong magic number)");
    if (magic[2] != unsigned_byte)
      fail(fmt::format("holds IDX values of type 0x{:02x}, not unsigned bytes (0x08)", magic[2]));
    if (magic[3] < 1 || magic[3] > 4)
      fail(fmt::format("has {} dimensions where IDX data sets have 1 to 4", magic[3]));
    return magic[3];
  }

  std::int64_t read_dimension() {
    std::array<std::uint8_t, 4> word{};  // most significant first
    require(word);
    return std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3];
  }

  core::Bytes value_count(const std::vector<std::int64_t>& shape) const {
    if (shape.front() == 0) fail("holds no samples");
    core::Bytes count = 1;
    for (const std::int64_t size : shape) {
      if (size == 0) fail("declares a dimension of 0");
      // Before the multiplication it is below 2^34, after it below 2^66: compare first, then
      // multiply.
      if (static_cast<core::Bytes>(size) > max_values / count)
        fail(fmt::format("declares more than {} of values, beyond what is held in memory",
                         core::format_bytes(max_values)));
      count *= static_cast<core::Bytes>(size);
    }
    return count;
  }

  // Grows with the actual data: a false header costs no more than the size of the file.
  void read_values(core::Bytes count, std::vector<std::uint8_t>& values) {
    values.reserve(std::min(count, stream_.known_left()));
    while (values.size() < count) {
      const std::size_t had = values.size();
      values.resize(std::min<core::Bytes>(count, std::max<core::Bytes>(core::MiB, 2 * had)));
      require(std::span(values).subspan(had));
    }
  }

  void require(std::span<std::uint8_t> out) {
    if (stream_.read(out) != out.size()) fail("ends before what its header declares (truncated)");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{} {}; get the file again, or use another", source_, what));
  }

  ByteStream& stream_;
  std::string source_;
};

}  // namespace

Idx read_idx(const std::filesystem::path& path) try {
  return IdxReader(*open_stream(path), path.string()).read();
} catch (const std::bad_alloc&) {
  throw core::OutOfMemory(
      fmt::format("the machine has no memory to hold {}; use a smaller data set",
                  core::printable(path.string())));
}

}  // namespace sweetspot::data
