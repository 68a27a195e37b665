#pragma once
#include <cstdint>

// Hopper's matrix products of a warpgroup (four warps), 64 rows, both operands in shared memory.
// Thread (warp, g, t) gets rows 16 · warp + g and 8 more, columns 8j + 2t and one more: d[4j + 2 ·
// (row is the upper) + column % 2].
namespace sweetspot::engine::cuda {

// An operand in shared memory in lines of 128 bytes, whose eight 16-byte chunks are swizzled: chunk
// index xor line modulo 8. `along`: a line is 64 of the depth, for one row. Across: a line is 64
// rows, for one step of the depth, and the next 64 rows are a panel further.
__device__ inline int swizzled(int line, int chunk) {
  return line * 128 + ((chunk ^ line % 8) << 4);
}

// Lines may have 64 bytes instead, of 32 of the depth: pairs of lines are swizzled, chunk index xor
// pair modulo 4.
constexpr int panel_bytes = 64 * 128;
template <int line_bytes = 128, int panel = panel_bytes>
__device__ std::uint64_t operand_descriptor(std::uint32_t shared_address) {
  static_assert(line_bytes == 128 || line_bytes == 64);
  constexpr std::uint64_t eight_lines = 8 * line_bytes, swizzle = line_bytes == 128 ? 1 : 2;
  return (std::uint64_t{shared_address} & 0x3ffff) >> 4 | std::uint64_t{panel >> 4} << 16 |
         (eight_lines >> 4) << 32 | swizzle << 62;
}

__device__ inline void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most the last `left` groups are pending.
template <int left>
__device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
// Makes this thread's writes to shared memory visible to the tensor cores, after a barrier.
__device__ inline void show_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// clang-format off
#define SWEETSPOT_REGISTERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define SWEETSPOT_REGISTERS_32 SWEETSPOT_REGISTERS_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define SWEETSPOT_REGISTERS_48 SWEETSPOT_REGISTERS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define SWEETSPOT_REGISTERS_64 SWEETSPOT_REGISTERS_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define SWEETSPOT_REGISTERS_96 SWEETSPOT_REGISTERS_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define SWEETSPOT_REGISTERS_128 SWEETSPOT_REGISTERS_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define SWEETSPOT_SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SWEETSPOT_SUMS_16 SWEETSPOT_SUMS_8(0), SWEETSPOT_SUMS_8(8)
#define SWEETSPOT_SUMS_32 SWEETSPOT_SUMS_16, SWEETSPOT_SUMS_8(16), SWEETSPOT_SUMS_8(24)
#define SWEETSPOT_SUMS_48 SWEETSPOT_SUMS_32, SWEETSPOT_SUMS_8(32), SWEETSPOT_SUMS_8(40)
#define SWEETSPOT_SUMS_64 SWEETSPOT_SUMS_48, SWEETSPOT_SUMS_8(48), SWEETSPOT_SUMS_8(56)
#define SWEETSPOT_SUMS_96 SWEETSPOT_SUMS_64, SWEETSPOT_SUMS_8(64), SWEETSPOT_SUMS_8(72), SWEETSPOT_SUMS_8(80), SWEETSPOT_SUMS_8(88)
#define SWEETSPOT_SUMS_128 SWEETSPOT_SUMS_96, SWEETSPOT_SUMS_8(96), SWEETSPOT_SUMS_8(104), SWEETSPOT_SUMS_8(112), SWEETSPOT_SUMS_8(120)
#define SWEETSPOT_WGMMA(columns, type, registers, sums, a_place, b_place, one_place, a_turned_place, b_turned_place) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " one_place ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" registers "}, "             \
               a_place ", " b_place ", p, 1, 1, " a_turned_place ", " b_turned_place ";\n}"                          \
               : sums : "l"(a), "l"(b), "r"(1), "n"(int{a_across}), "n"(int{b_across}))
#define SWEETSPOT_WARPGROUP_PRODUCT(columns, text, count, a_place, b_place, one_place, a_turned_place, b_turned_place) \
  template <>                                                                                                          \
  struct WarpgroupProduct<columns> {                                                                                   \
    template <bool bf16, bool a_across, bool b_across>                                                                 \
    __device__ static void run(float (&d)[count], std::uint64_t a, std::uint64_t b) {                                  \
      if constexpr (bf16)                                                                                              \
        SWEETSPOT_WGMMA(text, "bf16", SWEETSPOT_REGISTERS_##count, SWEETSPOT_SUMS_##count, a_place, b_place, one_place, a_turned_place, b_turned_place); \
      else                                                                                                             \
        SWEETSPOT_WGMMA(text, "f16", SWEETSPOT_REGISTERS_##count, SWEETSPOT_SUMS_##count, a_place, b_place, one_place, a_turned_place, b_turned_place); \
    }                                                                                                                  \
  }

// d += a · b over 16 of the depth; `across`: the operand's layout.
template <int columns>
struct WarpgroupProduct;
SWEETSPOT_WARPGROUP_PRODUCT(32, "32", 16, "%16", "%17", "%18", "%19", "%20");
SWEETSPOT_WARPGROUP_PRODUCT(64, "64", 32, "%32", "%33", "%34", "%35", "%36");
SWEETSPOT_WARPGROUP_PRODUCT(96, "96", 48, "%48", "%49", "%50", "%51", "%52");
SWEETSPOT_WARPGROUP_PRODUCT(128, "128", 64, "%64", "%65", "%66", "%67", "%68");
SWEETSPOT_WARPGROUP_PRODUCT(192, "192", 96, "%96", "%97", "%98", "%99", "%100");
SWEETSPOT_WARPGROUP_PRODUCT(256, "256", 128, "%128", "%129", "%130", "%131", "%132");
// clang-format on

}  // namespace sweetspot::engine::cuda
