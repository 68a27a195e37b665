#include "engine/cpu/team.h"

#include <fmt/format.h>

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

void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < spins + yields; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    i < spins ? pause() : std::this_thread::yield();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

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
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& member : members_) member.join();
}

void Team::start(Function function, void* context) {
  const FlushDenormals flush;
  function_ = function, context_ = context;
  if (size_ > 1) {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
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
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  } else {
    wait_while(generation_, generation);
  }
}

}  // namespace sweetspot::engine::cpu
