#pragma once
#include <gtest/gtest.h>

#include "engine/cuda/cuda.h"

// The first line of every test that needs a GPU: skipped, with the reason, if there is none.
#define REQUIRE_GPU()                                                             \
  if (const auto gpu = sweetspot::engine::cuda::available(); gpu.devices.empty()) \
  GTEST_SKIP() << gpu.reason
