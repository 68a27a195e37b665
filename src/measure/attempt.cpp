#include "measure/attempt.h"

#include <new>
#include <string_view>

#include "core/error.h"
#include "workload/workload.h"

namespace sweetspot::measure {

using trial::Outcome;

void attempt(trial::Trial& trial, const std::function<void()>& action) {
  const auto end = [&](Outcome outcome, const std::string& note) {
    trial.outcome = outcome;
    trial.note = note;
  };
  try {
    action();
  } catch (const workload::Ended& ended) {
    end(ended.outcome, ended.what());
  } catch (const std::bad_alloc&) {
    end(Outcome::out_of_memory, "the machine refused the memory");
  } catch (const core::DeviceLost&) {
    throw;  // says nothing of the setting
  } catch (const core::MachineError& error) {
    // The one thing a machine refuses for a setting's sake; any other is a failure of its own.
    const bool memory = std::string_view(error.what()).find("memory") != std::string_view::npos;
    end(memory ? Outcome::out_of_memory : Outcome::crashed, error.what());
  } catch (const std::exception& error) {
    end(Outcome::crashed, error.what());
  }
}

}  // namespace sweetspot::measure
