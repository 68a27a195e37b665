#include "cli/exit_codes.h"

#include "cli/signals.h"

namespace sweetspot::cli {

int end_exit_code(advise::CutShort end, int when_whole) {
  switch (end) {
    case advise::CutShort::no:
      return when_whole;
    case advise::CutShort::stopped:
      return signal_exit + CountSignals::last();
    case advise::CutShort::budget:
      return partial_exit;
    case advise::CutShort::store_failed:
      return 1;
    case advise::CutShort::device_lost:
      return unfit_exit;
  }
  return 1;
}

}  // namespace sweetspot::cli
