#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sweetspot::client {

// The socket: whole lines are sent or none, and no call blocks unless requested. Closed after the
// first error, and then silent. Only the process that opened it uses it.
class Wire {
 public:
  Wire() = default;
  ~Wire() { close(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool connect(const char* path);
  bool open() const { return descriptor_ >= 0; }
  void close();

  // False if the line was dropped: the socket is full, or closed.
  bool send(const std::string& line);
  // All of it, blocking.
  bool send_waiting(const std::string& lines);
  // The lines that have arrived, without their ends. `wait`: block until something arrives.
  std::vector<std::string> receive(bool wait);

 private:
  // How much of it the socket took; nullopt if it is full, and after an error.
  std::optional<std::size_t> put(const std::string& bytes, int flags);
  std::vector<std::string> split(const char* bytes, std::size_t count);

  int descriptor_ = -1;
  pid_t owner_ = 0;
  std::string unsent_;     // the rest of a partially sent line
  std::string received_;   // the beginning of a line
  bool skipping_ = false;  // inside a line that is too long
};

}  // namespace sweetspot::client
