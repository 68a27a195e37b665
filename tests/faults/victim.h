#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace sweetspot::tests {

// What a store_writer had printed when it ended.
struct LastWords {
  std::int64_t study = 0;   // 0: it had not opened one
  std::int64_t trials = 0;  // the number of the last acknowledged one
  std::string failure;      // its sentence
  bool killed = false;      // by us, not ended on its own
};

// A store_writer process with its stdout in a pipe.
class Victim {
 public:
  // `prepare` runs in the child before the program starts.
  Victim(
      const std::filesystem::path& database, unsigned seed,
      const std::function<void()>& prepare = [] {});
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  pid_t pid() const { return pid_; }
  void wait_for(const std::string& words);  // in what it says
  void wait_for_lines(std::ptrdiff_t count);
  LastWords kill_after(std::chrono::microseconds moment);
  LastWords wait();  // for its own end

 private:
  bool read_some();  // false at the end of the pipe
  void wait_until(const std::function<bool()>& seen);
  LastWords reap();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string said_;
};

}  // namespace sweetspot::tests
