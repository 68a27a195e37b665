#include "study/scaling_check.h"

#include <algorithm>
#include <new>

#include "core/error.h"

namespace sweetspot::study {

std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made) {
  constexpr core::Seconds usual_time{3};
  if (!loop.may_go_on()) return std::nullopt;
  core::Seconds time = usual_time;
  if (loop.options().budget) time = std::min(time, *loop.options().budget - loop.spent());
  try {
    return workload.scaling(made.setting, time, loop.stop());
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::OutOfMemory&) {  // the answer stands without
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

}  // namespace sweetspot::study
