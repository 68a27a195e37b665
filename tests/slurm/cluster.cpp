#include "slurm/cluster.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace sweetspot::tests {
namespace {

int script(const std::string& action, const std::filesystem::path& folder) {
  return std::system((std::string(SWEETSPOT_SOURCE_DIR) + "/scripts/slurm " + action + " " +
                      folder.string() + " >/dev/null")
                         .c_str());
}

}  // namespace

SlurmCluster::SlurmCluster() {
  if (script("start", folder_.path()) != 0) throw std::runtime_error("scripts/slurm start");
  setenv("SLURM_CONF", (folder_ / "slurm.conf").c_str(), 1);
}

SlurmCluster::~SlurmCluster() {
  script("stop", folder_.path());
  unsetenv("SLURM_CONF");
}

std::string ask(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

}  // namespace sweetspot::tests
