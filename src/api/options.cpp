#include "api/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"

namespace sweetspot::api {
namespace {

using core::InputError;

void check_share(const char* name, double share, double most) {
  if (!(share > 0 && share <= most))
    throw InputError(
        fmt::format("Options::{} is {:g}; use a share above 0 and up to {:g}", name, share, most));
}

void check_count(const char* name, int count, int most) {
  if (count < 1 || count > most)
    throw InputError(fmt::format("Options::{} is {}; use 1 to {}", name, count, most));
}

void check_time(const char* name, Seconds time) {
  if (!(time.count() > 0 && std::isfinite(time.count())))
    throw InputError(
        fmt::format("Options::{} is {:g} s; use a positive time, such as 3 s", name, time.count()));
}

}  // namespace

void check(const Options& options) {
  constexpr int most_batch = 1 << 30, most_repeats = 100;
  check_count("min", options.min, most_batch);
  check_count("max", options.max, most_batch);
  check_count("multiple_of", options.multiple_of, most_batch);
  check_count("repeats", options.repeats, most_repeats);
  check_share("tolerance", options.tolerance, 0.5);
  check_share("precision", options.precision, 0.5);
  check_share("memory_share", options.memory_share, 1);
  check_time("trial_time", options.trial_time);
  if (options.budget) check_time("budget", *options.budget);
  if (options.name.empty())
    throw InputError("Options::name is empty; name what is trained, such as \"resnet18\"");
}

search::Limits limits_of(const Options& options) {
  search::Limits limits;
  limits.objective = options.objective == Objective::throughput ? search::Objective::throughput
                                                                : search::Objective::max_batch;
  const std::int64_t step = options.multiple_of;
  limits.multiple_of = step;
  limits.min = (options.min + step - 1) / step * step;
  limits.max = options.max / step * step;
  limits.tolerance = options.tolerance;
  limits.passes = options.repeats;
  if (limits.max < limits.min)
    throw InputError(fmt::format(
        "there is no batch to try from {} to {}{}; change min, max or multiple_of of the Options",
        options.min, options.max, step > 1 ? fmt::format(" in steps of {}", step) : ""));
  return limits;
}

namespace {

// The OOM killer ends a process instead of failing an allocation: nobody throws std::bad_alloc
// then. So its own memory is monitored unless the caller does it.
void watch_this_process(Handed& made, const Options& options) {
  const auto now = probe::proc::own_memory();
  if (!now || !probe::proc::restart_own_peak()) return;
  made.functions.memory = probe::proc::own_peak;
  made.functions.memory_source = "VmHWM of the process";
  made.functions.prepare = [prepare = std::move(made.functions.prepare)](std::int64_t batch) {
    probe::proc::restart_own_peak();
    if (prepare) prepare(batch);
  };
  const auto free = probe::proc::memory().free;
  if (!free) return;
  const auto share = static_cast<core::Bytes>(options.memory_share * static_cast<double>(*free));
  made.memory_limit = std::min(made.memory_limit.value_or(*now + share), *now + share);
}

}  // namespace

Handed handed(const Hooks& hooks, const Options& options) {
  if (!hooks.run) throw core::InputError("there is no callback to run; pass one to tune()");
  Handed made;
  made.memory_limit = options.memory_limit_bytes;
  workload::callback::Functions& functions = made.functions;
  functions.run = [&hooks](std::int64_t batch, std::int64_t steps) {
    hooks.run(static_cast<int>(batch), static_cast<int>(steps));
  };
  if (hooks.prepare)
    functions.prepare = [&hooks](std::int64_t batch) { hooks.prepare(static_cast<int>(batch)); };
  functions.finish = hooks.finish;
  if (hooks.data_wait) functions.data_wait_seconds = [&hooks] { return hooks.data_wait().count(); };
  if (hooks.memory_bytes) {
    functions.memory = [&hooks] { return std::optional<core::Bytes>(hooks.memory_bytes()); };
    functions.memory_source = "callback";
  } else {
    watch_this_process(made, options);
  }
  return made;
}

}  // namespace sweetspot::api
