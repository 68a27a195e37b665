#pragma once
#include <sweetspot/options.h>

#include <memory>

#include "advise/request.h"
#include "store/store.h"

namespace sweetspot::api {

// What the options ask.
advise::Request request_of(const Options& options, const search::Limits& limits);

// The study of these options in the store that they name, else in one in memory.
struct Kept {
  std::unique_ptr<store::Store> store;  // outlives its writer
  std::unique_ptr<store::Writer> writer;
};
Kept keep(const Options& options, const search::Limits& limits);

}  // namespace sweetspot::api
