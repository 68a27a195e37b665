#pragma once
#include <string>

#include "temporary_folder.h"

namespace sweetspot::tests {

// The other end of the protocol: a socket that SWEETSPOT_SOCKET names during its lifetime.
class Server {
 public:
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void accept();
  bool nobody_connected();
  // The next line (blocking); "" at the end of file.
  std::string line();
  std::string type();  // of the next line
  void send(const std::string& text);
  void hang_up();

 private:
  TemporaryFolder folder_;
  int listener_ = -1, connection_ = -1;
  std::string received_;
};

}  // namespace sweetspot::tests
