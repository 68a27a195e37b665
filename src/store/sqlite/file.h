#pragma once
#include <filesystem>
#include <memory>

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// For writing: made if missing, migrated if older, durable at each commit.
std::unique_ptr<SQLite::Database> open_for_writing(const std::filesystem::path& file);

// For reading: makes no file; null when there is none, or nothing in it. Migrated if older.
std::unique_ptr<SQLite::Database> open_for_reading(const std::filesystem::path& file);

}  // namespace sweetspot::store::sqlite
