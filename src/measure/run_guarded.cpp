#include "measure/run_guarded.h"

#include <new>

#include "core/error.h"
#include "workload/workload.h"

namespace sweetspot::measure {

using trial::Outcome;

trial::Trial begin_trial(const trial::Setting& setting, const std::string& device,
                         telemetry::Machine& machine) {
  trial::Trial trial;
  trial.setting = setting;
  trial.device = device;
  trial.started_at = machine.seconds_since_1970();
  return trial;
}

void run_guarded(trial::Trial& trial, const std::function<void()>& action) {
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
  } catch (const core::OutOfMemory& error) {
    end(Outcome::out_of_memory, error.what());
  } catch (const core::DeviceLost&) {
    throw;  // says nothing about the setting
  } catch (const std::exception& error) {
    end(Outcome::crashed, error.what());
  }
}

}  // namespace sweetspot::measure
