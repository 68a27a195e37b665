#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/pipeline.h"
#include "data/support.h"

namespace sweetspot::data {
namespace {

TEST(LoadDelay, IsReadWithItsUnit) {
  EXPECT_DOUBLE_EQ(parse_load_delay("1ms").duration.count(), 0.001);
  EXPECT_FALSE(parse_load_delay("1ms").per_sample);
  EXPECT_DOUBLE_EQ(parse_load_delay("20ms/batch").duration.count(), 0.02);
  EXPECT_FALSE(parse_load_delay("20ms/batch").per_sample);
  EXPECT_DOUBLE_EQ(parse_load_delay("50us/sample").duration.count(), 50e-6);
  EXPECT_TRUE(parse_load_delay("50us/sample").per_sample);
}

TEST(LoadDelay, RefusesWhatIsNone) {
  for (const char* text : {"", "/", "1", "ms", "-1ms", "1ms/", "1ms/epoch", "1ms/batch/sample",
                           "/sample", "nanms", "1ms /batch x"})
    EXPECT_THAT(failure_of([&] { parse_load_delay(text); }),
                testing::StartsWith("2: --load-delay '"))
        << text;
}

}  // namespace
}  // namespace sweetspot::data
