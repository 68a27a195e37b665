#pragma once
#include <string>

#include "temporary_folder.h"

namespace sweetspot::tests {

// A Slurm cluster on this machine in a temporary folder (scripts/slurm), for its lifetime;
// processes started meanwhile use it.
class SlurmCluster {
 public:
  SlurmCluster();
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

 private:
  TemporaryFolder folder_;
};

// The output of a Slurm command.
std::string ask(const std::string& command);

}  // namespace sweetspot::tests
