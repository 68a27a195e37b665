#include "core/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace sweetspot::core {
namespace {

TEST(SharedLibrary, FindsFunctionsInTheFirstThatIsThere) {
  SharedLibrary library({"libnothing-of-this-name.so.1", "libc.so.6"});
  decltype(&strdup) copy = nullptr;
  library.find("strdup", copy);
  EXPECT_EQ(library.lack(), "");
  ASSERT_TRUE(copy);
  char* text = copy("hello");
  EXPECT_STREQ(text, "hello");
  free(text);
}

TEST(SharedLibrary, NamesWhatIsMissingFirst) {
  SharedLibrary none({"libnothing-of-this-name.so.1"});
  decltype(&strdup) function = nullptr;
  none.find("strdup", function);
  EXPECT_FALSE(function);
  EXPECT_THAT(none.lack(), testing::HasSubstr("libnothing-of-this-name.so.1"));

  SharedLibrary library({"libc.so.6"});
  library.find("no_function_of_this_name", function);
  library.find("nor_of_this_one", function);
  EXPECT_FALSE(function);
  EXPECT_THAT(library.lack(), testing::HasSubstr("no_function_of_this_name"));
}

}  // namespace
}  // namespace sweetspot::core
