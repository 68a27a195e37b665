#pragma once
#include <sys/types.h>

#include <filesystem>

namespace sweetspot::store::sqlite {

// Which file a path led to: to notice that it was removed or replaced while it was open.
class Identity {
 public:
  explicit Identity(const std::filesystem::path& file);
  bool still_at(const std::filesystem::path& file) const;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A file that is not there yet, in a new folder where temporary files go.
std::filesystem::path rescue_place();

}  // namespace sweetspot::store::sqlite
