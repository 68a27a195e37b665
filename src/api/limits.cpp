#include "api/limits.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

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
    throw InputError(fmt::format("Options::{} is {:g} s; use more than nothing, such as 3 s", name,
                                 time.count()));
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

}  // namespace sweetspot::api
