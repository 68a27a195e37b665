#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::report::paper {

// One device of this machine and the trials it ran.
struct Device {
  std::string name;      // "cpu", "cuda:0"
  std::string hardware;  // for people: "AMD EPYC 9B14, 2 cores"
  std::string study;     // its number in the store
  std::vector<trial::Trial> trials;

  bool is_gpu() const { return name != "cpu"; }
};

// The paper's experiment as it went here.
struct Experiment {
  std::vector<Device> devices;
  std::vector<std::int64_t> batches;  // that were asked for
  int epochs = 5;
  std::int64_t test_samples = 10'000;
  bool quick = false;
  std::string workload;  // "paper-cnn on mnist"
  std::string training;  // "adam at 0.001, fp32"
  std::string program, started;
  std::string status = "finished", message;  // why it ended early; empty when it did not
  double seconds = 0;                        // of this run
  std::size_t resumed = 0;                   // trials that were known before
  std::string no_gpu;                        // why no GPU took part; empty when one did
  std::string environment_json;              // an object

  const Device* cpu() const;
  const Device* gpu() const;
};

}  // namespace sweetspot::report::paper
