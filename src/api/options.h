#pragma once
#include <sweetspot/options.h>
#include <sweetspot/tune.h>

#include <optional>

#include "search/search.h"
#include "workload/callback/callback.h"

namespace sweetspot::api {

// InputError names the option that cannot be used.
void check(const Options& options);

// What the options allow to be tried. The memory is left to those who know whose it is.
search::Limits limits_of(const Options& options);

// The caller's hooks as the workload wants them, and the memory that they may take.
struct Handed {
  workload::callback::Functions functions;
  std::optional<core::Bytes> memory_limit;
};
// InputError when there is nothing to run. Refers to the hooks.
Handed handed(const Hooks& hooks, const Options& options);

}  // namespace sweetspot::api
