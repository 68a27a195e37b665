#pragma once
#include <sweetspot/tune.h>

#include <optional>

#include "workload/callback/callback.h"

namespace sweetspot::api {

// The caller's hooks as the workload wants them, and the memory that they may take.
struct Handed {
  workload::callback::Functions functions;
  std::optional<core::Bytes> memory_limit;
};
// InputError when there is nothing to run. Refers to the hooks.
Handed handed(const Hooks& hooks, const Options& options);

}  // namespace sweetspot::api
