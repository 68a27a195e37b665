#pragma once
#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace sweetspot::tests {

// The result of SQLite's own integrity check: "ok". A missing database is intact.
inline std::string integrity(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return "ok";
  sqlite3* database = nullptr;
  std::string answer;
  sqlite3_open(file.c_str(), &database);
  const auto append = [](void* text, int, char** cells, char**) {
    return static_cast<std::string*>(text)->append(cells[0]), 0;
  };
  sqlite3_exec(database, "PRAGMA integrity_check", append, &answer, nullptr);
  sqlite3_exec(database, "PRAGMA foreign_key_check", append, &answer, nullptr);
  sqlite3_close(database);
  return answer;
}

}  // namespace sweetspot::tests
