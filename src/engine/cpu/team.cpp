#include "engine/cpu/team.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <exception>

#include "core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sweetspot::engine::cpu {
namespace {

// Denormals cost a hundred cycles each, and Adam's moments decay into them: flush them to zero.
#if defined(__x86_64__)
using ControlWord = unsigned;
constexpr ControlWord flush_to_zero = 0x8040;  // results and operands
ControlWord control_word() { return _mm_getcsr(); }
void set_control_word(ControlWord word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
using ControlWord = std::uint64_t;
constexpr ControlWord flush_to_zero = 1u << 24;
ControlWord control_word() {
  ControlWord word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
void set_control_word(ControlWord word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
using ControlWord = unsigned;
constexpr ControlWord flush_to_zero = 0;
ControlWord control_word() { return 0; }
void set_control_word(ControlWord) {}
#endif

class FlushDenormals {
 public:
  FlushDenormals() : before_(control_word()) { set_control_word(before_ | flush_to_zero); }
  ~FlushDenormals() { set_control_word(before_); }

 private:
  ControlWord before_;
};

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// About 20 µs: longer than a barrier between stages takes, shorter than a scheduler's slice.
constexpr int spins = 500;
// About a millisecond more, in which the member stays runnable but yields the core. Two members
// that sleep and wake each other on one core look like one busy thread to the scheduler, which
// leaves them there, at half the speed, for seconds; two runnable ones get spread over cores.
constexpr int yields = 2000;

// A yield that takes longer and switched to another thread has given the core to another process
// for a slice. (Without a switch it was the hypervisor, and waking a sleeper would take it longer
// still.) From then on, for a while, a member sleeps instead: the scheduler runs a thread that is
// woken before one that has used up its slice, but after a yield only when its turn comes.
using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds long_yield{200};
constexpr std::chrono::milliseconds crowded_time{20};

// Unlike std::atomic's wait(), which first yields a few times itself.
void sleep_while(std::atomic<std::uint32_t>& value, std::uint32_t old) {
  static_assert(sizeof(value) == sizeof(std::uint32_t));
  syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
}

// How often the scheduler has switched from this thread to another while it could run.
long switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nivcsw;
}

}  // namespace

void Team::wait_while(std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  for (int i = 0; i < spins; ++i) {
    if (changed()) return;
    pause();
  }
  thread_local Clock::time_point crowded_until{};
  const long switched_before = switches();
  Clock::time_point now = Clock::now();
  for (int i = 0; i < yields && now >= crowded_until; ++i) {
    const Clock::time_point before = now;
    std::this_thread::yield();
    now = Clock::now();
    if (now - before > long_yield && switches() > switched_before)
      crowded_until = now + crowded_time;
    if (changed()) return;
  }
  // Counted before the kernel looks at the value again, and looked at by change() after changing
  // it: one of the two sees the other.
  ++sleepers_;
  while (!changed()) sleep_while(value, old);
  --sleepers_;
}

void Team::change(std::atomic<std::uint32_t>& value) {
  ++value;
  if (sleepers_ > 0) syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Team::Team(int size) : size_(size) {
  try {
    for (int member = 1; member < size; ++member)
      members_.emplace_back([this, member] { serve(member); });
  } catch (const std::exception&) {  // no thread, or no memory for it
    end();
    throw core::MachineError(fmt::format("the machine refused thread {} of {}; use fewer --threads",
                                         members_.size() + 2, size));
  }
}

Team::~Team() { end(); }

void Team::end() {
  ending_ = true;
  change(round_);
  for (std::thread& member : members_) member.join();
}

void Team::start(Function function, void* context) {
  const FlushDenormals flush;
  function_ = function, context_ = context;
  if (size_ > 1) change(round_);
  function(context, 0);
  barrier();
}

void Team::serve(int member) {
  const FlushDenormals flush;
  for (std::uint32_t seen = 0;; ++seen) {
    wait_while(round_, seen);
    if (ending_) return;
    function_(context_, member);
    barrier();
  }
}

void Team::barrier() {
  if (size_ == 1) return;
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    arrived_.store(0, std::memory_order_relaxed);
    change(generation_);
  } else {
    wait_while(generation_, generation);
  }
}

}  // namespace sweetspot::engine::cpu
