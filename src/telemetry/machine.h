#pragma once
#include <memory>
#include <string>

#include "probe/cpu/speed_probe.h"
#include "probe/proc/load.h"
#include "probe/proc/own_use.h"
#include "telemetry/meter.h"

namespace sweetspot::telemetry {

// The machine that a trial runs on: its clock, its other load, and its speed. Tests have their own.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual double now() = 0;  // seconds, monotonic; from any thread
  virtual double seconds_since_1970() = 0;
  virtual probe::proc::Load load() = 0;
  // Of this process, and of ranks that train with it.
  virtual std::optional<probe::proc::Scheduling> scheduling() { return std::nullopt; }
  // From two fixed computations on all cores, in a fifth of a millisecond.
  virtual probe::cpu::SpeedReading speed() = 0;
  // For a trial's device, "cpu" or "cuda:0"; nullptr if there is nothing to read.
  virtual std::unique_ptr<Meter> meter(const std::string& device) = 0;
  // Between two readings of the meter during a trial's steps; 0: only at their begin and end.
  double reading_interval_seconds = 0.1;
};
Machine& this_machine();

// Time by the steps or by the clock, whichever is more: the clock may run on between steps. If they
// take virtual time, by them alone: how fast this machine gets through them changes nothing.
class Elapsed {
 public:
  Elapsed(Machine& machine, bool real) : machine_(machine), real_(real), start_(machine.now()) {}
  void add(double step_seconds) { stepped_ += step_seconds; }
  double start() const { return start_; }
  double seconds() const {
    const double passed = real_ ? machine_.now() - start_ : 0;
    return stepped_ > passed ? stepped_ : passed;
  }

 private:
  Machine& machine_;
  bool real_;
  double start_, stepped_ = 0;
};

}  // namespace sweetspot::telemetry
