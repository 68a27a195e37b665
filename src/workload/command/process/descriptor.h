#pragma once
#include <string>

namespace sweetspot::workload::command::process {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();
  void close();

 private:
  int number_ = -1;
};

// Takes what a system call gave. Descriptors 0 to 2 are moved up, because a child's standard
// streams go there (we may have been started with ours closed). MachineError when the call failed.
Descriptor checked(int number, const char* what);

struct Pair {
  Descriptor read, write;
};
Pair make_pipe();
Pair make_sockets();  // of whole messages; either end reads and writes
Descriptor open_null();

}  // namespace sweetspot::workload::command::process
