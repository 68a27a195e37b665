#pragma once
#include <cstddef>
#include <cstdint>

// The C interface of libsweetspot_mpi.so. Only it links MPI, so that sweetspot runs without. Each
// function returns 0 or an error code, which `explain` turns into text. They are called by one
// thread at a time, not always the same one.
struct SweetspotRanks {
  int version;  // of this table
  int rank, size, local_size;

  // At most `most_at_once` all-reduces are in flight; each has its own number below that.
  int (*begin_all_reduce)(int number, float* values, std::size_t count);
  int (*begin_sum)(int number, double* values, std::size_t count);
  int (*is_done)(int number, int* done);
  int (*broadcast)(float* values, std::size_t count, int root);

  // Allocates this many zeroed bytes for each rank, visible to all of them, which are on one
  // machine. Every rank calls it once. An error on every rank if one has no room.
  int (*share_memory)(std::size_t bytes, std::byte** of_ranks);

  // Floats of rank 0 that all ranks may read and add to, and the number of changes.
  int (*share)(const float* values, std::size_t count, void** shared);
  int (*read)(void* shared, float* to, std::size_t count, std::uint64_t* changes);
  int (*add)(void* shared, const float* changes, std::size_t count, std::uint64_t* changes_before);
  int (*unshare)(void* shared);  // every rank
  int (*progress)();             // serves other ranks' one-sided accesses

  void (*explain)(int error, char* text, std::size_t size);
  void (*finish)();
  void (*abandon)(int exit_code);
};

namespace sweetspot::collective {
constexpr int ranks_table_version = 3;
constexpr int most_at_once = 64;
}  // namespace sweetspot::collective

// What the library exports as sweetspot_join: joins the other ranks; on failure returns null and a
// reason.
using SweetspotJoin = const SweetspotRanks* (*)(char* reason, std::size_t size);
