#pragma once
#include <memory>
#include <string>

#include "probe/nvml/api.h"

namespace sweetspot::probe::nvml {

// The driver's library, opened and initialised; closed with the last device that uses it.
class Library {
 public:
  // nullptr, and the reason in one sentence, if it is missing or does not initialise.
  static std::shared_ptr<const Library> open(const std::string& file, std::string& reason);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions& call() const { return functions_; }
  std::string driver() const;  // its version; empty if unknown

 private:
  explicit Library(void* opened);
  void* opened_;
  Functions functions_;
  bool started_ = false;
};

}  // namespace sweetspot::probe::nvml
