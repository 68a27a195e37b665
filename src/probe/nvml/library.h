#pragma once
#include <memory>
#include <string>

#include "probe/nvml/api.h"

namespace sweetspot::probe::nvml {

// The driver's library, opened and started; closed with the last device that uses it.
class Library {
 public:
  // nullptr, and the reason in one sentence, where there is none or it does not start.
  static std::shared_ptr<const Library> open(const std::string& file, std::string& reason);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions& call() const { return functions_; }
  std::string driver() const;  // its version; empty where it does not tell

 private:
  explicit Library(void* opened);
  void* opened_;
  Functions functions_;
  bool started_ = false;
};

}  // namespace sweetspot::probe::nvml
