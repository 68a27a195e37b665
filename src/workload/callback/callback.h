#pragma once
#include <functional>
#include <optional>
#include <string>

#include "workload/workload.h"

namespace sweetspot::workload::callback {

// Calls a program's function. Its exceptions become Ended, with the corresponding outcome; the
// unwinding of a cancelled thread passes through.
void guarded(const std::function<void()>& call);

// The functions of a program that links the library; only `run` is required.
struct Functions {
  std::function<void(std::int64_t batch, std::int64_t steps)> run;
  std::function<void(std::int64_t batch)> prepare;
  std::function<void()> finish;
  std::function<std::optional<core::Bytes>()> memory;
  std::function<double()> data_wait_seconds;  // of the last run()
  std::string memory_source;
};

using Clock = std::function<double()>;  // seconds
double steady_seconds();

// Steps of the calling program itself, in its own process. A step here is one call of `run`, with
// as many updates as make it worth timing.
class CallbackWorkload : public Workload {
 public:
  CallbackWorkload(std::string name, Functions functions, Clock now = steady_seconds);
  std::string name() const override { return name_; }
  std::unique_ptr<Session> open(const trial::Setting& setting) override;

 private:
  std::string name_;
  Functions functions_;
  Clock now_;
};

}  // namespace sweetspot::workload::callback
