#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/descriptor.h"
#include "core/units.h"

namespace sweetspot::data {

// A file being read from its beginning; every failure is an InputError that names it.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  core::Bytes size() const { return size_; }  // at open time
  // As much as is available, up to the size of `out`.
  std::size_t read(std::span<std::uint8_t> out);

 private:
  [[noreturn]] void fail() const;

  std::string shown_path_;
  core::Descriptor file_;
  core::Bytes size_ = 0;
};

// SHA-256 in lower-case hexadecimal. InputError when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

// Makes a file's content, or a folder's entries, survive a power failure. MachineError on failure.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace sweetspot::data
