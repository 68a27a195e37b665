#pragma once
#include <stdexcept>
#include <string>

namespace sweetspot {

// All that the library throws by itself; the message is one sentence that ends with the way out.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the caller gave cannot be used: an option, a file.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace sweetspot
