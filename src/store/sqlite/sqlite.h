#pragma once
#include <filesystem>
#include <memory>

#include "store/database.h"

namespace sweetspot::store::sqlite {

// One SQLite file.
std::unique_ptr<Database> open(const std::filesystem::path& file);
// In the memory of this process, for as long as the object and what it opened exist.
std::unique_ptr<Database> open_in_memory();

}  // namespace sweetspot::store::sqlite
