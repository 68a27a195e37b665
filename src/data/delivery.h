#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "data/catalog.h"

namespace sweetspot::data {

// Why a source failed; the next one is tried.
struct SourceFailed {
  std::string reason;
};

// A rename within the cache. MachineError if it cannot be written.
void move(const std::filesystem::path& from, const std::filesystem::path& to);
[[noreturn]] void fail_writing(const std::filesystem::path& path, const std::string& reason);

// Checks what any source brought: files of the data set themselves, compressed, or in an archive.
class Delivery {
 public:
  Delivery(const Package& package, const std::filesystem::path& folder);  // created, empty

  const std::filesystem::path& folder() const { return folder_; }

  // Moves the data set's files to `ready`, checked and synced. `of` names the source in messages.
  void collect(const std::filesystem::path& ready, const std::string& of) const;

  // Extracts the files that may be needed from an archive.
  void unpack(const std::filesystem::path& archive) const;

  // File names that may be part of it, with their sizes.
  std::map<std::string, core::Bytes> wanted() const;

 private:
  bool is_here(std::string_view name) const;

  const Package& package_;
  std::filesystem::path folder_;
};

}  // namespace sweetspot::data
