#pragma once

namespace sweetspot::probe::cpu {

// Bytes a second at which each of `threads` threads reads what its neighbour has just written, by
// the best of a few passes in under a millisecond. A virtual machine's cores may be moved apart, to
// another cache or socket, for seconds: their arithmetic is as fast as before, and a step's sums
// over all threads are not. 0 for a single thread, which has no neighbour.
double exchange_bytes_per_second(int threads);

}  // namespace sweetspot::probe::cpu
