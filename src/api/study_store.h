#pragma once
#include <sweetspot/options.h>

#include <memory>
#include <optional>
#include <string>

#include "search/search.h"
#include "store/store.h"

namespace sweetspot::api {

// Where the trials of these options go: a study in the store they name, else memory.
struct Kept {
  std::unique_ptr<store::Store> store;  // outlives its writer
  std::unique_ptr<store::Writer> writer;
};
Kept keep(const Options& options, const search::Limits& limits);

std::string environment_json();  // of this library and machine

}  // namespace sweetspot::api
