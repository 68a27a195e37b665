#include "store/sqlite/lock.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/text.h"

namespace sweetspot::store::sqlite {
namespace {

// Open file description locks: unlike the classic ones they also exclude two writers of one
// process, and closing another descriptor does not drop them.
struct flock byte_of(std::int64_t number, Share share = Share::alone) {
  struct flock range {};
  range.l_type = share == Share::alone ? F_WRLCK : F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_start = number;
  range.l_len = 1;
  return range;
}

[[noreturn]] void fail(const std::filesystem::path& locks) {
  throw core::MachineError(fmt::format("{} cannot be locked ({}); pass --db other.db",
                                       core::printable(locks.string()), std::strerror(errno)));
}

}  // namespace

std::optional<Lock> try_lock(const std::filesystem::path& locks, std::int64_t number, Share share) {
  // Not inherited by the programs that a trial starts: they would hold the lock after us.
  Lock lock(::open(locks.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  struct flock range = byte_of(number, share);
  if (lock && ::fcntl(lock.number(), F_OFD_SETLK, &range) == 0) return lock;
  if (lock && (errno == EAGAIN || errno == EACCES)) return std::nullopt;
  fail(locks);
}

// The kernel has no timed wait for such a lock.
std::optional<Lock> try_lock_for(std::chrono::milliseconds patience,
                                 const std::filesystem::path& locks, std::int64_t number) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (auto lock = try_lock(locks, number)) return lock;
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool is_locked(const std::filesystem::path& locks, std::int64_t number) {
  const Lock file(::open(locks.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  struct flock range = byte_of(number);
  return ::fcntl(file.number(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace sweetspot::store::sqlite
