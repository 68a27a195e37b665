#pragma once
#include <gtest/gtest.h>

#include "collective/ranks.h"

namespace sweetspot::tests {

// What every kind of group must do; instantiated by each of them.
class GroupContract : public testing::TestWithParam<Kind> {
 protected:
  void on_each(const std::function<void(collective::Group&)>& work) const { GetParam().run(work); }
};

inline std::string name_of(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

}  // namespace sweetspot::tests
