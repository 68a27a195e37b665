#pragma once
#include <filesystem>
#include <memory>

#include "store/store.h"

namespace sweetspot::store::sqlite {

std::unique_ptr<Follower> open_follower(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
