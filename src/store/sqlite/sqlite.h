#pragma once
#include <filesystem>
#include <memory>

#include "store/store.h"

namespace sweetspot::store::sqlite {

std::unique_ptr<Follower> open_follower(const std::filesystem::path& file);

// Trial history in one SQLite file. Opens it only when needed; only open_study() creates it.
std::unique_ptr<Store> open(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
