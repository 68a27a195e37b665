#pragma once
#include <filesystem>
#include <functional>

namespace sweetspot::store::sqlite {

// Thrown where what is stored makes no sense.
struct Damaged {};

// Runs `work`; a failure of SQLite, or Damaged, becomes one sentence that names the file and the
// way out.
void guarded(const std::filesystem::path& file, const std::function<void()>& work);

// InputError when no database can be at this place: a folder is there, its folder is not, or it is
// another machine's.
void check_place(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
