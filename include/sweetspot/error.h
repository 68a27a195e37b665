#pragma once
#include <stdexcept>
#include <string>

namespace sweetspot {

// The base of everything the library itself throws; the message is one sentence that ends with a
// remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument is invalid: an option, a file.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace sweetspot
