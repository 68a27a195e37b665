#pragma once
#include <stdexcept>
#include <string>

namespace sweetspot::core {

// The tool's failures are exceptions; each message is one sentence that names the cause and ends
// with a remedy. A trial's failure is an outcome, never an exception.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Invalid user input: a flag, a file, a model, a data set.
struct InputError : Error {
  explicit InputError(const std::string& message) : Error(2, message) {}
};

// The machine failed: disk full, out of memory, no network.
struct MachineError : Error {
  explicit MachineError(const std::string& message) : Error(1, message) {}
};

// An allocation failed: in a trial, its batch does not fit.
struct OutOfMemory : MachineError {
  explicit OutOfMemory(const std::string& message) : MachineError(message) {}
};

// The training device is lost to this process: every further call fails too.
struct DeviceLost : MachineError {
  explicit DeviceLost(const std::string& message) : MachineError(message) {}
};

}  // namespace sweetspot::core
