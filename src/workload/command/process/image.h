#pragma once
#include <string>
#include <vector>

#include "workload/command/process/process.h"

namespace sweetspot::workload::command::process {

// Everything execve() needs, laid out before the fork: nothing may be allocated after it, because
// another thread may hold the allocator's lock.
class Image {
 public:
  // `mark` is the variable that tells the tree's processes from all others.
  Image(const Launch& launch, const std::string& mark);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const char* const* candidates() const { return candidates_.data(); }  // ends with nullptr
  char* const* argv() const { return argv_.data(); }
  char* const* environment() const { return environment_.data(); }
  const char* folder() const { return folder_.empty() ? nullptr : folder_.c_str(); }
  // rm -rf of the launch's leftovers, or nullptr where there are none.
  char* const* remove() const { return removal_.empty() ? nullptr : remove_.data(); }

 private:
  std::vector<std::string> paths_, arguments_, variables_, removal_;
  std::string folder_;
  std::vector<const char*> candidates_;
  std::vector<char*> argv_, environment_, remove_;
};

}  // namespace sweetspot::workload::command::process
