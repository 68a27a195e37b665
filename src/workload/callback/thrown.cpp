#include "workload/callback/thrown.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <new>
#include <string>

#include "workload/workload.h"

namespace sweetspot::workload::callback {

bool tells_of_memory(std::string_view message) {
  std::string lower(message);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  // PyTorch on CUDA and on the CPU, cuBLAS, CUDA's and TensorFlow's status names.
  constexpr std::array<std::string_view, 5> words{
      "out of memory", "can't allocate memory", "cublas_status_alloc_failed",
      "cudaerrormemoryallocation", "resource_exhausted"};
  return std::ranges::any_of(
      words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

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
    throw Ended(tells_of_memory(error.what()) ? Outcome::out_of_memory : Outcome::crashed,
                error.what());
  } catch (...) {
    throw Ended(Outcome::crashed, "the callback threw something that is no std::exception");
  }
}

}  // namespace sweetspot::workload::callback
