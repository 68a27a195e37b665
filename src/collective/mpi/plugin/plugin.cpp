// libsweetspot_mpi.so: the only code that is compiled against MPI.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "collective/functions.h"

namespace {

using sweetspot::collective::most_at_once;

MPI_Request requests[most_at_once];
SweetspotRanks table{};

// MPI counts in int.
constexpr std::size_t most_values = std::size_t{1} << 30;

int piece(std::size_t count) { return static_cast<int>(std::min(count, most_values)); }

// Calls run(from, count) for pieces of at most most_values until one fails.
template <class Run>
int in_pieces(std::size_t count, Run run) {
  int error = MPI_SUCCESS;
  for (std::size_t at = 0; at < count && error == MPI_SUCCESS; at += most_values)
    error = run(at, piece(count - at));
  return error;
}

int begin_all_reduce(int number, float* values, std::size_t count) {
  if (count > most_values) return MPI_ERR_COUNT;
  return MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD, &requests[number]);
}

int is_done(int number, int* done) { return MPI_Test(&requests[number], done, MPI_STATUS_IGNORE); }

int begin_sum(int number, double* values, std::size_t count) {
  if (count > most_values) return MPI_ERR_COUNT;
  return MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_DOUBLE, MPI_SUM,
                        MPI_COMM_WORLD, &requests[number]);
}

int broadcast(float* values, std::size_t count, int root) {
  return in_pieces(count, [=](std::size_t at, int part) {
    return MPI_Bcast(values + at, part, MPI_FLOAT, root, MPI_COMM_WORLD);
  });
}

// The window is never freed. If one rank fails, for example because /dev/shm is too small, all do.
int share_memory(std::size_t bytes, std::byte** of_ranks) {
  static MPI_Win window = MPI_WIN_NULL;
  void* own = nullptr;
  int error = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                                      MPI_COMM_WORLD, &own, &window);
  if (error == MPI_SUCCESS) std::memset(own, 0, bytes);
  int worst = MPI_SUCCESS;  // 0; errors are positive
  const int together = MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (together != MPI_SUCCESS || worst != MPI_SUCCESS)
    return together != MPI_SUCCESS ? together : worst;
  for (int rank = 0; rank < table.size && error == MPI_SUCCESS; ++rank) {
    MPI_Aint size = 0;
    int unit = 1;
    error = MPI_Win_shared_query(window, rank, &size, &unit, &of_ranks[rank]);
  }
  return error;
}

// What is shared is an MPI_Win, of rank 0: the number of changes, followed by the floats.
constexpr MPI_Aint floats_at = 64;

int share(const float* values, std::size_t count, void** made) {
  auto* window = new MPI_Win(MPI_WIN_NULL);
  void* memory = nullptr;
  const MPI_Aint bytes =
      table.rank == 0 ? floats_at + static_cast<MPI_Aint>(count * sizeof(float)) : 0;
  int error = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window);
  if (error == MPI_SUCCESS && table.rank == 0) {
    error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, *window);
    std::memset(memory, 0, floats_at);
    std::memcpy(static_cast<char*>(memory) + floats_at, values, count * sizeof(float));
    if (error == MPI_SUCCESS) error = MPI_Win_unlock(0, *window);
  }
  if (error == MPI_SUCCESS) error = MPI_Barrier(MPI_COMM_WORLD);
  *made = window;
  return error;
}

MPI_Aint place(std::size_t at) { return floats_at + static_cast<MPI_Aint>(at * sizeof(float)); }

// A shared lock for readers and an exclusive one for writers, so that reads are consistent.
int read(void* shared, float* to, std::size_t count, std::uint64_t* changes) {
  const MPI_Win window = *static_cast<MPI_Win*>(shared);
  int error = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Get(changes, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, window);
  if (error == MPI_SUCCESS)
    error = in_pieces(count, [=](std::size_t at, int part) {
      return MPI_Get(to + at, part, MPI_FLOAT, 0, place(at), part, MPI_FLOAT, window);
    });
  const int unlocked = MPI_Win_unlock(0, window);
  return error != MPI_SUCCESS ? error : unlocked;
}

int add(void* shared, const float* values, std::size_t count, std::uint64_t* changes_before) {
  const MPI_Win window = *static_cast<MPI_Win*>(shared);
  int error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  if (error != MPI_SUCCESS) return error;
  const std::uint64_t one = 1;
  error = MPI_Fetch_and_op(&one, changes_before, MPI_UINT64_T, 0, 0, MPI_SUM, window);
  if (error == MPI_SUCCESS)
    error = in_pieces(count, [=](std::size_t at, int part) {
      return MPI_Accumulate(values + at, part, MPI_FLOAT, 0, place(at), part, MPI_FLOAT, MPI_SUM,
                            window);
    });
  const int unlocked = MPI_Win_unlock(0, window);
  return error != MPI_SUCCESS ? error : unlocked;
}

int unshare(void* shared) {
  auto* window = static_cast<MPI_Win*>(shared);
  const int error = MPI_Win_free(window);
  delete window;
  return error;
}

int progress() {
  int found = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

void explain(int error, char* text, std::size_t size) {
  char words[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(error, words, &length);
  std::snprintf(text, size, "%s", words);
}

void finish() { MPI_Finalize(); }
void abandon(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

int ranks_here() {
  MPI_Comm here = MPI_COMM_NULL;
  int size = 1;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) !=
      MPI_SUCCESS)
    return 1;
  MPI_Comm_size(here, &size);
  MPI_Comm_free(&here);
  return size;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SweetspotRanks* sweetspot_join(
    char* reason, std::size_t size) {
  int provided = 0;
  // One thread at a time, but not always the same: the training thread and the one that drives
  // all-reduces.
  const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (error != MPI_SUCCESS || provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(reason, size, "this MPI does not let several threads call it");
    return nullptr;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  table.version = sweetspot::collective::ranks_table_version;
  MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &table.size);
  table.local_size = ranks_here();
  std::fill_n(requests, most_at_once, MPI_REQUEST_NULL);
  table.begin_all_reduce = begin_all_reduce, table.begin_sum = begin_sum, table.is_done = is_done;
  table.broadcast = broadcast, table.share_memory = share_memory;
  table.share = share, table.read = read, table.add = add, table.unshare = unshare;
  table.progress = progress, table.explain = explain;
  table.finish = finish, table.abandon = abandon;
  return &table;
}
