#include "workload/callback/thrown.h"

#include <cxxabi.h>

#include <new>

#include "workload/out_of_memory.h"
#include "workload/workload.h"

namespace sweetspot::workload::callback {

void guarded(const std::function<void()>& call) {
  using trial::Outcome;
  try {
    call();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const Ended&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Ended(Outcome::out_of_memory, "the callback threw std::bad_alloc");
  } catch (const std::exception& error) {
    throw Ended(throws_out_of_memory(error.what()) ? Outcome::out_of_memory : Outcome::crashed,
                error.what());
  } catch (...) {
    throw Ended(Outcome::crashed, "the callback threw something that is no std::exception");
  }
}

}  // namespace sweetspot::workload::callback
