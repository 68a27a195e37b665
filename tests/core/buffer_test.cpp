#include "core/buffer.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace sweetspot::core {
namespace {

TEST(Buffer, IsZeroedAndCountedWhileItLives) {
  const MemoryByUse before = live_buffers();
  {
    const Buffer buffer(1000, Use::input);
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer.as<unsigned char>()[i], 0);
    EXPECT_EQ(live_buffers()[Use::input], before[Use::input] + 1000);
  }
  EXPECT_EQ(live_buffers(), before);
}

TEST(Buffer, ThatIsRefusedIsALackOfMemory) {
  const MemoryByUse before = live_buffers();
  EXPECT_THROW(Buffer(Bytes{1} << 60, Use::activations), OutOfMemory);
  EXPECT_EQ(live_buffers(), before);
}

// The type decides: "an illegal memory access" is not out of memory.
TEST(OutOfMemory, IsATypeAndNotAWord) {
  const auto is_out_of_memory = [](const auto& error) {
    try {
      throw error;
    } catch (const OutOfMemory&) {
      return true;
    } catch (const MachineError&) {
      return false;
    }
  };
  EXPECT_TRUE(is_out_of_memory(OutOfMemory("the machine refused 1 GiB for activations")));
  EXPECT_FALSE(is_out_of_memory(MachineError("the GPU failed at a step: illegal memory access")));
  EXPECT_FALSE(is_out_of_memory(DeviceLost("the GPU was lost at a step: illegal memory access")));
}

}  // namespace
}  // namespace sweetspot::core
