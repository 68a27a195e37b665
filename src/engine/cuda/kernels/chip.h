#pragma once

namespace sweetspot::engine::cuda {

// GPU properties that plans and launches need. The defaults are an H200's.
struct Chip {
  int multiprocessors = 132;
  int shared_bytes = 227 * 1024;  // per block, at most
  bool programmatic = true;       // kernels may start while their predecessor still runs
  bool warpgroups = true;         // wgmma, which only Hopper has
};

// The properties of device `device` from its driver; the H200's if it does not exist.
// SWEETSPOT_CUDA_CAPABILITY=8.0 (or 8.6) in the environment disables what such a GPU lacks, so that
// its code can be tested on a later one.
Chip chip_of(int device);
Chip current_chip();

}  // namespace sweetspot::engine::cuda
