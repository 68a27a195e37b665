#include "api/functions.h"

#include <algorithm>

#include "api/resident.h"
#include "core/error.h"
#include "probe/proc/host.h"

namespace sweetspot::api {
namespace {

// A process is ended for want of memory rather than refused it: nobody throws std::bad_alloc then.
// So its own memory is watched where the caller watches none.
void watch_this_process(Handed& made, const Options& options) {
  const auto now = resident_now();
  if (!now || !restart_resident_peak()) return;
  made.functions.memory = resident_peak;
  made.functions.memory_source = "VmHWM of the process";
  made.functions.prepare = [prepare = std::move(made.functions.prepare)](std::int64_t batch) {
    restart_resident_peak();
    if (prepare) prepare(batch);
  };
  const auto free = probe::proc::memory().free;
  if (!free) return;
  const auto share = static_cast<core::Bytes>(options.memory_share * static_cast<double>(*free));
  made.memory_limit = std::min(made.memory_limit.value_or(*now + share), *now + share);
}

}  // namespace

Handed handed(const Hooks& hooks, const Options& options) {
  if (!hooks.run) throw core::InputError("there is no callback to run; pass one to tune()");
  Handed made;
  made.memory_limit = options.memory_limit_bytes;
  workload::callback::Functions& functions = made.functions;
  functions.run = [&hooks](std::int64_t batch, std::int64_t steps) {
    hooks.run(static_cast<int>(batch), static_cast<int>(steps));
  };
  if (hooks.prepare)
    functions.prepare = [&hooks](std::int64_t batch) { hooks.prepare(static_cast<int>(batch)); };
  functions.finish = hooks.finish;
  if (hooks.data_wait) functions.data_wait_seconds = [&hooks] { return hooks.data_wait().count(); };
  if (hooks.memory_bytes) {
    functions.memory = [&hooks] { return std::optional<core::Bytes>(hooks.memory_bytes()); };
    functions.memory_source = "callback";
  } else {
    watch_this_process(made, options);
  }
  return made;
}

}  // namespace sweetspot::api
