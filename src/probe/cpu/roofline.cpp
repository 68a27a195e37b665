#include "probe/cpu/roofline.h"

#include "probe/cpu/bandwidth.h"
#include "probe/cpu/peak.h"
#include "probe/proc/host.h"

namespace sweetspot::probe::cpu {

Roofline measure_roofline(int threads) {
  // Long enough for clocks to rise and for a neighbour to pause for a millisecond.
  constexpr double seconds = 0.1;
  return {peak_flops_per_second(threads, seconds), triad_bytes_per_second(threads, triad_bytes())};
}

Roofline roofline(int threads, bool again) {
  const RooflineKey key{proc::cpu().model.value_or("unknown"), threads};
  const auto file = roofline_file();
  if (file && !again)
    if (const auto known = read_roofline(*file, key)) return *known;
  const Roofline measured = measure_roofline(threads);
  if (file) write_roofline(*file, key, measured);
  return measured;
}

}  // namespace sweetspot::probe::cpu
