#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trial/trial.h"

namespace sweetspot::workload {

// "Run steps at this setting": what is measured. A session holds one setting open, so that its
// start-up is paid once and its steps can be timed one by one.
class Session {
 public:
  virtual ~Session() = default;
  // Runs one weight update and says what it took, phase by phase. `samples` is what it really used.
  virtual trial::Step step() = 0;
  // What it holds now, where that can be known to the byte.
  virtual std::optional<core::Bytes> memory() const { return std::nullopt; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  // For people: "paper-cnn on mnist".
  virtual std::string name() const = 0;
  // What this setting will take, before anything runs; nothing when it cannot be told.
  virtual std::optional<core::Bytes> predict(const trial::Setting&) const { return std::nullopt; }
  // Samples of an epoch: no batch can be larger.
  virtual std::optional<std::int64_t> samples() const { return std::nullopt; }
  // Throws core::Error when the setting cannot be opened; std::bad_alloc or MachineError for want
  // of memory becomes the outcome out_of_memory.
  virtual std::unique_ptr<Session> open(const trial::Setting&) = 0;
};

}  // namespace sweetspot::workload
