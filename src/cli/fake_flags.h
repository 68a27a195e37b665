#pragma once
#include <string>

#include "workload/fake/fake.h"

namespace sweetspot::cli {

// "fake:fixed=2ms,sample=10us,noise=2%,samples=60000,…": a workload of exact arithmetic in virtual
// time, for tests of everything around it.
workload::fake::Options parse_fake(const std::string& text);

}  // namespace sweetspot::cli
