#pragma once
#include <cstddef>
#include <cstdint>

// What libsweetspot_mpi.so and libsweetspot_gloo.so offer, in C: each alone links what it is named
// for, so that sweetspot runs where that is not. Each function returns 0, or an error code, which
// `explain` puts into words. They are called by one thread at a time, whichever.
struct SweetspotRanks {
  int version;  // of this table
  int rank, size, local_size;

  // At most `most_at_once` sums are under way; each has a number of its own below that.
  int (*begin_all_reduce)(int number, float* values, std::size_t count);
  int (*begin_sum)(int number, double* values, std::size_t count);
  int (*is_done)(int number, int* done);
  int (*broadcast)(float* values, std::size_t count, int root);

  // So many bytes of each rank, zeroes, that all ranks see; every rank asks for them, once. Null,
  // or an error on each of them, where ranks do not share memory.
  int (*share_memory)(std::size_t bytes, std::byte** of_ranks);

  // Floats of rank 0 that all may read and add to, and the count of changes. Null where that cannot
  // be.
  int (*share)(const float* values, std::size_t count, void** shared);
  int (*read)(void* shared, float* to, std::size_t count, std::uint64_t* changes);
  int (*add)(void* shared, const float* changes, std::size_t count, std::uint64_t* changes_before);
  int (*unshare)(void* shared);  // every rank
  int (*progress)();             // for others that want something of this rank

  void (*explain)(int error, char* text, std::size_t size);
  void (*finish)();
  void (*abandon)(int exit_code);
};

namespace sweetspot::collective {
constexpr int ranks_table_version = 3;
constexpr int most_at_once = 64;
}  // namespace sweetspot::collective

// What each of these libraries exports as sweetspot_join: joins the others; null, with a reason,
// where that fails.
using SweetspotJoin = const SweetspotRanks* (*)(char* reason, std::size_t size);
