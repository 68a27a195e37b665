#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/command/client/message.h"
#include "workload/command/process/descriptor.h"
#include "workload/command/scratch.h"

namespace sweetspot::workload::command::client {

// Where one process tree reports its steps. The first client of our own user that says hello is the
// active one; every other connection is closed, which it takes for "nobody listens".
class Server {
 public:
  Server();  // MachineError if no socket can be created
  // Over an existing connection; nobody else can connect.
  explicit Server(process::Descriptor connection);

  std::string path() const { return folder_->path() / "socket"; }  // where it listens
  std::vector<int> descriptors() const;
  // The active client's messages since the last call, its hello first; never blocks. At most about
  // 1 MiB per call: a flooding client must not block everything else.
  std::vector<Message> take();
  // To the active client. False if it does not accept it.
  bool send(const std::string& line);

  pid_t peer() const;  // the process at the other end of the active connection
  bool connected() const { return talking_ && talking_->open; }
  std::int64_t bad_lines() const { return bad_; }

 private:
  struct Connection {
    process::Descriptor socket;
    Lines lines;
    bool open = true, said_hello = false;
  };
  void accept();
  std::vector<Message> read(Connection& connection);
  std::vector<Message> understand(Connection& connection, const std::vector<std::string>& lines);

  std::optional<PrivateFolder> folder_;
  process::Descriptor listener_;
  std::vector<Connection> strangers_;  // connected, without a hello yet
  std::optional<Connection> talking_;
  std::int64_t bad_ = 0;
};

}  // namespace sweetspot::workload::command::client
