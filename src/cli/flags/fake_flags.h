#pragma once
#include <string>

#include "workload/fake/fake.h"

namespace sweetspot::cli {

// "fake:fixed=2ms,sample=10us,noise=2%,samples=60000,…": a workload of exact arithmetic in virtual
// time, for tests of everything around it. A drifting machine: "drift=3%,drift-time=60s,
// neighbour=20%,neighbour-time=1s,neighbour-slowdown=1.5,run-deviation=1%". A batch that fails in
// the middle: "oom-above=512,oom-at-step=5". With "side-by-side=false" one session at a time.
// A network that learns by a law: "learn-samples=60000,learn-critical=500,learn-best=99.2%,
// learn-deviation=10%,diverges-above=0.005".
workload::fake::Options parse_fake(const std::string& text);

}  // namespace sweetspot::cli
