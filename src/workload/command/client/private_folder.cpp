#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "workload/command/client/server.h"

namespace sweetspot::workload::command::client {

PrivateFolder::PrivateFolder() {
  constexpr std::string_view file = "/socket";
  const char* const parents[] = {std::getenv("XDG_RUNTIME_DIR"), std::getenv("TMPDIR"), "/tmp"};
  for (const char* parent : parents) {
    if (parent == nullptr || parent[0] != '/') continue;
    std::string pattern = std::string(parent) + "/sweetspot-XXXXXX";
    if (pattern.size() + file.size() >= sizeof(sockaddr_un::sun_path)) continue;
    if (::mkdtemp(pattern.data()) == nullptr) continue;  // it makes it 0700
    path_ = pattern;
    return;
  }
  throw core::MachineError(
      "no directory for the client's socket can be made; set TMPDIR to a short path that can be "
      "written");
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string PrivateFolder::socket_path() const { return path_ / "socket"; }

}  // namespace sweetspot::workload::command::client
