#include "core/buffer.h"

namespace {

// Before any test has created one.
[[maybe_unused]] const bool guarded = (sweetspot::core::guard_buffers(), true);

}  // namespace
