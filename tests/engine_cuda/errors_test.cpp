// How GPU failures are reported. Built only with the CUDA toolkit: it uses CUDA's own codes.
#ifdef SWEETSPOT_HAS_CUDA
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/cuda/device.h"
#include "gpu.h"

namespace sweetspot::engine::cuda {
namespace {

TEST(CudaErrors, RefusedMemoryIsALackOfIt) {
  EXPECT_THROW(check(cudaErrorMemoryAllocation, "its buffers"), core::OutOfMemory);
  EXPECT_NO_THROW(check(cudaSuccess, "its buffers"));
}

// "an illegal memory access was encountered", while the device still responds.
TEST(CudaErrors, ThatOnlySpeakOfMemoryAreNone) {
  REQUIRE_GPU();
  try {
    check(cudaErrorIllegalAddress, "a step");
    FAIL() << "nothing was thrown";
  } catch (const core::OutOfMemory& error) {
    FAIL() << error.what();
  } catch (const core::DeviceLost& error) {
    FAIL() << error.what();
  } catch (const core::MachineError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("memory"));
  }
}

TEST(CudaErrors, ABufferLargerThanTheDeviceIsRefusedAndTheNextOneIsNot) {
  REQUIRE_GPU();
  EXPECT_THROW(DeviceBuffer(core::Bytes{1} << 50, core::Use::activations), core::OutOfMemory);
  EXPECT_NO_THROW(DeviceBuffer(1000, core::Use::activations));
}

}  // namespace
}  // namespace sweetspot::engine::cuda
#endif
