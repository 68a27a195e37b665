#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sweetspot::engine::cpu {

// The engine's only threads: they run one function together, with barriers inside it. The calling
// thread is member 0. A waiting member spins briefly, then sleeps, so that the loader's threads get
// the core when the trainer is idle.
class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;

  int size() const { return size_; }

  // Calls work(member) on every member and returns when all have; allocates nothing.
  template <class Work>
  void run(Work& work) {
    start([](void* context, int member) { (*static_cast<Work*>(context))(member); }, &work);
  }
  // Every member must call it the same number of times.
  void barrier();

 private:
  using Function = void (*)(void*, int);
  void start(Function function, void* context);
  void serve(int member);
  void end();
  // Returns once `value` is no longer `old`.
  void wait_while(std::atomic<std::uint32_t>& value, std::uint32_t old);
  // Adds one, and wakes those who sleep until then.
  void change(std::atomic<std::uint32_t>& value);

  int size_;
  Function function_ = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint32_t> round_{0};  // a new round of work, or the end
  std::atomic<bool> ending_{false};
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};  // members that wait in the kernel
  std::vector<std::thread> members_;
};

}  // namespace sweetspot::engine::cpu
