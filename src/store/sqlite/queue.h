#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "store/store.h"

namespace SQLite {
class Database;
}

namespace sweetspot::store::sqlite {

// For processes of one host, such as one per GPU: the lock on a file is the kernel's.
std::unique_ptr<Queue> open_queue(const std::filesystem::path& file,
                                  const trial::StudyKey& study_key,
                                  const trial::Environment& environment, const QueueTerms& terms);
std::vector<Attempt> select_attempts(SQLite::Database& database, std::int64_t study);

}  // namespace sweetspot::store::sqlite
