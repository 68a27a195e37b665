#pragma once
#include <stdexcept>
#include <string>

namespace sweetspot::core {

// The tool's failures are exceptions; each message is one sentence that names the culprit and ends
// with the way out. A trial's failure is an outcome, never an exception.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// What the user gave cannot be used: a flag, a file, a model, a data set.
struct InputError : Error {
  explicit InputError(const std::string& message) : Error(2, message) {}
};

// The machine failed us: disk full, memory refused, no network.
struct MachineError : Error {
  explicit MachineError(const std::string& message) : Error(1, message) {}
};

// The machine refused memory: of a trial, that its batch does not fit.
struct OutOfMemory : MachineError {
  explicit OutOfMemory(const std::string& message) : MachineError(message) {}
};

// The device that trains is gone for this process: whatever is asked of it next fails too.
struct DeviceLost : MachineError {
  explicit DeviceLost(const std::string& message) : MachineError(message) {}
};

}  // namespace sweetspot::core
