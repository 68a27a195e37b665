#include "engine/cpu/kernels/amx_check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>

#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::cpu {
namespace {

// From arch/x86/include/uapi/asm/prctl.h: a process must request permission before its threads may
// use tiles.
bool ask_for_tiles() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Bf16 small_integer(std::int64_t i) {
  return Bf16{static_cast<std::uint16_t>(
      std::bit_cast<std::uint32_t>(static_cast<float>(i % 7 - 3)) >> 16)};
}
float value(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

// A product whose sums are exact.
bool multiplies_right() {
  constexpr std::int64_t rows = 32, depth = 64;
  static Bf16 a[rows * depth], b[depth * panel];
  static float c[rows * panel];
  for (std::int64_t i = 0; i < rows * depth; ++i) a[i] = small_integer(i);
  for (std::int64_t i = 0; i < depth * panel; ++i) b[i] = small_integer(3 * i + 1);
  Product<Bf16> m{};
  m.a = a, m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = depth;
  m.b = b, m.width = panel, m.c = c, m.c_row_stride = panel, m.c_unit_stride = unit;
  products_amx.multiply(m);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < panel; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += value(a[r * depth + k]) * value(b[(k / 2 * panel + n) * 2 + k % 2]);
      if (c[r * panel + n] != sum) return false;
    }
  return true;
}

// The child reports through a pipe, not its exit code: whoever reaps all children may reap this
// one.
bool works_in_a_child() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGILL, SIG_DFL);
    std::signal(SIGSEGV, SIG_DFL);
    if (ask_for_tiles() && multiplies_right()) {
      const char yes = 1;
      _exit(write(ends[1], &yes, 1) == 1 ? 0 : 1);
    }
    _exit(1);
  }
  close(ends[1]);
  char answer = 0;
  ssize_t got;
  do got = read(ends[0], &answer, 1);
  while (got < 0 && errno == EINTR);
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return got == 1 && answer == 1;
}

// Clang 16's __builtin_cpu_supports() does not know these two.
bool has_amx() {
  constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx_bf16) && (d & amx_tile);
}

}  // namespace

bool amx_works() {
  return products_amx.multiply && has_amx() && works_in_a_child() && ask_for_tiles();
}

}  // namespace sweetspot::engine::cpu
#else
bool sweetspot::engine::cpu::amx_works() { return false; }
#endif
