#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <stdexcept>

#include "words.h"

namespace sweetspot::tests {

// During its lifetime, root becomes nobody, so that file permissions apply. Does nothing for other
// users.
class Unprivileged {
 public:
  Unprivileged() {
    Words::of(__FILE__);  // nobody may not enter the folder of the sources
    constexpr uid_t nobody = 65534;
    if (was_root_ && seteuid(nobody) != 0) throw std::runtime_error("root cannot become nobody");
  }
  ~Unprivileged() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool was_root_ = geteuid() == 0;
};

}  // namespace sweetspot::tests
