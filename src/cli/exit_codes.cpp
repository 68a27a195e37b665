#include "cli/exit_codes.h"

#include "cli/signals.h"

namespace sweetspot::cli {

int end_exit_code(study::End end, int when_whole) {
  switch (end) {
    case study::End::none:
      return when_whole;
    case study::End::stopped:
      return signal_exit + CountSignals::last();
    case study::End::budget:
      return partial_exit;
    case study::End::store_failed:
      return 1;
    case study::End::device_lost:
      return unfit_exit;
  }
  return 1;
}

}  // namespace sweetspot::cli
