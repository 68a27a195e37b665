#pragma once
#include <memory>
#include <string>

#include "store/store.h"

namespace sweetspot::store::postgres {

std::unique_ptr<Follower> open_follower(const std::string& url);

}  // namespace sweetspot::store::postgres
