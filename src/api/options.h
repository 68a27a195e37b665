#pragma once
#include <sweetspot/options.h>
#include <sweetspot/tune.h>

#include <optional>

#include "search/search.h"
#include "workload/callback/callback.h"

namespace sweetspot::api {

// InputError names the invalid option.
void check(const Options& options);

// What the options allow to be tried. The memory limit is set by those who know which memory it is.
search::Limits limits_of(const Options& options);

// The caller's hooks in the form of the workload, and their memory limit.
struct Handed {
  workload::callback::Functions functions;
  std::optional<core::Bytes> memory_limit;
};
// InputError if there is nothing to run. Keeps references to the hooks.
Handed handed(const Hooks& hooks, const Options& options);

}  // namespace sweetspot::api
