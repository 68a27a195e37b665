#pragma once
#include <filesystem>
#include <functional>

namespace sweetspot::store::sqlite {

// Thrown if the stored data is invalid.
struct Damaged {};

// Runs `work`; a failure of SQLite, or Damaged, becomes one sentence that names the file and the
// remedy.
void guarded(const std::filesystem::path& file, const std::function<void()>& work);

// InputError if no database can be at this path: it is a folder, its folder does not exist, or it
// is on another machine.
void check_place(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
