#pragma once
#include <sweetspot/options.h>

#include "search/search.h"

namespace sweetspot::api {

// InputError names the option that cannot be used.
void check(const Options& options);

// What the options allow to be tried. The memory is left to those who know whose it is.
search::Limits limits_of(const Options& options);

}  // namespace sweetspot::api
