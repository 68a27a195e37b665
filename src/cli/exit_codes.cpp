#include "cli/exit_codes.h"

#include "cli/signals.h"

namespace sweetspot::cli {

int exit_code(trial::End end) {
  using trial::End;
  switch (end) {
    case End::found:
    case End::finished:
      return 0;
    case End::nothing_feasible:
      return nothing_feasible_exit;
    case End::batch_unconfirmed:
    case End::energy_unknown:
    case End::metric_missing:
      return usage_exit;
    case End::not_reached:
    case End::budget:
      return partial_exit;
    case End::stopped:
      return signal_exit + CountSignals::last();
    case End::device_lost:
      return unfit_exit;
    case End::store_failed:
    case End::running:
      return 1;
  }
  return 1;
}

}  // namespace sweetspot::cli
