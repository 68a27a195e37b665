#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/descriptor.h"
#include "store/database.h"

namespace sweetspot::store::sqlite {

// One byte of the file next to the database, held exclusively by this open file, or by those that
// share it, until it is closed. The kernel releases it when the process ends, however it ends, so
// that no lock is ever stale. It is not a lock on the database itself: closing a second descriptor
// of that file would drop SQLite's own.
using Lock = core::Descriptor;

// The number of a study, or:
constexpr std::int64_t setup = 0;  // held while the tables are created

// nullopt if another process holds it; MachineError if there can be no such file.
std::optional<Lock> try_lock(const std::filesystem::path& locks, std::int64_t number,
                             Share share = Share::alone);
std::optional<Lock> try_lock_for(std::chrono::milliseconds patience,
                                 const std::filesystem::path& locks, std::int64_t number);
bool is_locked(const std::filesystem::path& locks, std::int64_t number);

}  // namespace sweetspot::store::sqlite
