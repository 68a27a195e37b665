#pragma once
#include <span>

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// The migration steps, oldest first: step i takes a file from version i to i + 1. Never edited once
// released; a change is a new step, and a file of the previous version is added to
// tests/store/fixtures.
std::span<const char* const> migrations();
inline int schema_version() { return static_cast<int>(migrations().size()); }

// In the file's header: distinguishes our files from other programs'.
constexpr int application_id = 0x73777370;  // "swsp"

enum class Kind { empty, ours, foreign };
Kind kind_of(SQLite::Database& database);
int version_of(SQLite::Database& database);

// Migrates the file to this program's version, all steps or none; another process may do the same
// concurrently.
void migrate(SQLite::Database& database);

}  // namespace sweetspot::store::sqlite
