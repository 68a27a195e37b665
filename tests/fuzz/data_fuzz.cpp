// read_idx on any bytes, raw or gzip: values that fill the shape, or InputError; nothing else.
// Compressing first must give the same result.
#include <sys/mman.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "data/idx.h"

namespace {

using sweetspot::data::Idx;

std::optional<Idx> read(std::span<const std::uint8_t> bytes) try {
  const sweetspot::core::Descriptor file(memfd_create("fuzz.idx", 0));
  if (write(file.number(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    __builtin_trap();
  Idx idx = sweetspot::data::read_idx("/proc/self/fd/" + std::to_string(file.number()));
  std::uint64_t count = 1;
  for (const std::int64_t size : idx.shape) count *= static_cast<std::uint64_t>(size);
  if (count != idx.bytes.size()) __builtin_trap();
  return idx;
} catch (const sweetspot::core::InputError&) {
  return std::nullopt;
}

std::vector<std::uint8_t> gzip(std::span<const std::uint8_t> bytes) {
  z_stream zlib{};
  if (deflateInit2(&zlib, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) __builtin_trap();
  std::vector<std::uint8_t> out(deflateBound(&zlib, bytes.size()) + 32);
  zlib.next_in = const_cast<Bytef*>(bytes.data());
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = out.data();
  zlib.avail_out = static_cast<uInt>(out.size());
  if (deflate(&zlib, Z_FINISH) != Z_STREAM_END) __builtin_trap();
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const std::optional<Idx> plain = read(bytes);
  const bool was_gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
  if (was_gzip) return 0;  // gzip inside gzip is no IDX
  const std::optional<Idx> unpacked = read(gzip(bytes));
  if (plain.has_value() != unpacked.has_value()) __builtin_trap();
  if (plain && plain->bytes != unpacked->bytes) __builtin_trap();
  return 0;
}
