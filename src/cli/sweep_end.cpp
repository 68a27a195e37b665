#include "cli/sweep_end.h"

#include <fmt/format.h>

#include "cli/end_exit_code.h"
#include "cli/exit_codes.h"
#include "study/tune.h"

namespace sweetspot::cli {

std::string sweep_status(const sweep::SweepResult& result, bool any_ok) {
  switch (result.end) {
    case study::End::none:
      if (result.doubt) return std::string(name(study::Status::batch_unconfirmed));
      return any_ok ? "finished" : "nothing_feasible";
    case study::End::stopped:
      return "stopped";
    case study::End::budget:
      return "budget";
    case study::End::store_failed:
      return "store_failed";
    case study::End::device_lost:
      return "device_lost";
  }
  return "";
}

std::string sweep_message(const sweep::SweepResult& result, bool any_ok) {
  const std::string done = fmt::format("{} of {} trials are done; the same command goes on",
                                       result.trials.size(), result.planned);
  switch (result.end) {
    case study::End::none:
      if (result.doubt) return words(*result.doubt);
      return any_ok ? "" : "no point of the grid could be trained";
    case study::End::stopped:
      return "the sweep was stopped: " + done;
    case study::End::budget:
      return "the budget ended: " + done;
    case study::End::store_failed:
      return result.message;
    case study::End::device_lost:
      return fmt::format("{} ({})", result.message, done);
  }
  return "";
}

int sweep_exit_code(const sweep::SweepResult& result, bool any_ok) {
  return end_exit_code(result.end, result.doubt ? usage_exit : any_ok ? 0 : nothing_feasible_exit);
}

}  // namespace sweetspot::cli
