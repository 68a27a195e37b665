#pragma once

namespace sweetspot::engine::cuda {

// What plans and launches need to know of a GPU. Unless asked of one: an H200's.
struct Chip {
  int multiprocessors = 132;
  int shared_bytes = 227 * 1024;  // of a block, at most
  bool programmatic = true;       // kernels may start while the one before them still runs
  bool warpgroups = true;         // products of warpgroups, which Hopper has and nobody else
};

// Of device `device`, as its driver says; the H200's if it is not there. The environment's
// SWEETSPOT_CUDA_CAPABILITY=8.0 (or 8.6) leaves out what such a GPU has not got, so that the code
// for it can be tested on a later one.
Chip chip_of(int device);
Chip current_chip();

}  // namespace sweetspot::engine::cuda
