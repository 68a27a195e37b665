#pragma once
#include "core/units.h"

namespace sweetspot::probe::cpu {

// Three arrays that together are several times the last-level cache, without taking more than an
// eighth of the memory that is free.
core::Bytes triad_bytes();

// a = b + s·c over arrays of `bytes` in all, by `threads` threads: the best of a few passes, with
// the two reads and one write of each element counted and the write-allocation not.
double triad_bytes_per_second(int threads, core::Bytes bytes);

}  // namespace sweetspot::probe::cpu
