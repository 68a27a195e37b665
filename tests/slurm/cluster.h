#pragma once
#include <string>

#include "temporary_folder.h"

namespace sweetspot::tests {

// A Slurm cluster of this machine in a temporary folder (scripts/slurm), for as long as it lives;
// what this process starts meanwhile uses it.
class SlurmCluster {
 public:
  SlurmCluster();
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

 private:
  TemporaryFolder folder_;
};

// What a command of Slurm prints.
std::string ask(const std::string& command);

}  // namespace sweetspot::tests
