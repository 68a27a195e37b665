#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace sweetspot::store::sqlite {

// A study is written by one process alone, or by any number that share its queue.
enum class Share { alone, with_others };

// One byte of the file next to the database, held exclusively by this open file, or by those that
// share it. The kernel releases it when the process ends, however it ends, so that no lock is ever
// stale. It is not a lock on the database itself: closing a second descriptor of that file would
// drop SQLite's own.
class Lock {
 public:
  Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Lock& operator=(Lock&& other) noexcept {
    return std::swap(descriptor_, other.descriptor_), *this;
  }
  ~Lock();

 private:
  friend std::optional<Lock> try_lock(const std::filesystem::path&, std::int64_t, Share);
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// The number of a study, or:
constexpr std::int64_t setup = 0;  // held while the file is created or migrated

// nullopt if another process holds it; MachineError if there can be no such file.
std::optional<Lock> try_lock(const std::filesystem::path& database, std::int64_t number,
                             Share share = Share::alone);
std::optional<Lock> try_lock_for(std::chrono::milliseconds patience,
                                 const std::filesystem::path& database, std::int64_t number);
bool is_locked(const std::filesystem::path& database, std::int64_t number);

}  // namespace sweetspot::store::sqlite
