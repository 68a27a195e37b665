#include "data/support.h"

#include <fmt/format.h>
#include <zlib.h>

#include <fstream>
#include <numeric>
#include <stdexcept>

#include "core/error.h"

namespace sweetspot::data {
namespace fs = std::filesystem;

ScopedVariable::ScopedVariable(const char* name, const std::optional<std::string>& value)
    : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  value ? setenv(name, value->c_str(), 1) : unsetenv(name);
}

ScopedVariable::~ScopedVariable() {
  before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_);
}

void write_file(const fs::path& path, const Bytes& bytes) {
  write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

Bytes make_idx(const std::vector<std::uint32_t>& shape, const Bytes& values) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(shape.size())};
  for (const std::uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

Bytes make_idx(const std::vector<std::uint32_t>& shape) {
  Bytes values(std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()));
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return make_idx(shape, values);
}

Bytes gzip(const Bytes& bytes) {
  z_stream zlib{};
  deflateInit2(&zlib, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&zlib, bytes.size()) + 32);
  zlib.next_in = const_cast<Bytef*>(bytes.data());
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = out.data();
  zlib.avail_out = static_cast<uInt>(out.size());
  if (deflate(&zlib, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate failed");
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

std::string failure_of(const std::function<void()>& action) try {
  action();
  return "no failure";
} catch (const core::Error& error) {
  return fmt::format("{}: {}", error.exit_code(), error.what());
}

}  // namespace sweetspot::data
