#pragma once
#include <gtest/gtest.h>

#include "engine/cuda/cuda.h"

// The first line of every test that needs a GPU: skipped, with the reason, if there is none.
#define REQUIRE_GPU()                                                                 \
  if (const auto found = sweetspot::engine::cuda::available(); found.devices.empty()) \
  GTEST_SKIP() << found.reason
