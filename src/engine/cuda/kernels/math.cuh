#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

// A warp's product of 32×32 or 64×32 outputs over a slice of the depth, from tiles in shared
// memory. In every precision, thread (g, t) = (lane / 4, lane % 4) ends up with rows g, g+8, g+16,
// g+24 and columns 8j+2t, 8j+2t+1: row g+8i, column 8j+2t+e is sums[i / 2][j][i % 2 * 2 + e]. Four
// rows of one thread can thus be the four positions of a pooling window.
namespace sweetspot::engine::cuda {

// For this many groups of sixteen rows.
template <int sixteens>
using SumsOf = float[sixteens][4][4];
using Sums = SumsOf<2>;

// Operand tiles are stored along the depth, [row][k], or across it, [k][row]. The padding avoids
// bank conflicts in the reads below: rows of 4 words modulo 32 along, of 8 words across.
template <class Element, bool along>
struct Operand {
  static constexpr int pad = along && sizeof(Element) == 4 ? 4 : 8;
  const Element* tile;
  int pitch;
  __device__ Element at(int row, int k) const {
    return along ? tile[row * pitch + k] : tile[k * pitch + row];
  }
};

// Products of floats by multiply-adds.
struct PlainFloats {
  // Two steps of the depth at a time, so that what is stored along it is read in pairs, as are
  // adjacent columns across it; the next two are loaded while these are multiplied.
  template <int eights>
  struct Fragments {
    float2 left[eights], right[8];
    template <bool a_along, bool b_along>
    __device__ void load(Operand<float, a_along> a, Operand<float, b_along> b, int k) {
      const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
      for (int i = 0; i < eights; ++i)
        left[i] = a_along ? pair(&a.tile[(g + 8 * i) * a.pitch + k])
                          : float2{a.at(g + 8 * i, k), a.at(g + 8 * i, k + 1)};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = 8 * j + 2 * t;
        if (b_along) {
          right[2 * j] = pair(&b.tile[column * b.pitch + k]);
          right[2 * j + 1] = pair(&b.tile[(column + 1) * b.pitch + k]);
        } else {
          const float2 first = pair(&b.tile[k * b.pitch + column]);
          const float2 second = pair(&b.tile[(k + 1) * b.pitch + column]);
          right[2 * j] = {first.x, second.x}, right[2 * j + 1] = {first.y, second.y};
        }
      }
    }
  };
  template <int slice, bool a_along, bool b_along, int sixteens>
  __device__ static void multiply(Operand<float, a_along> a, Operand<float, b_along> b, int k0,
                                  SumsOf<sixteens>& sums) {
    constexpr int eights = 2 * sixteens;  // of rows
    // Unrolled no further, since a small product runs through its code only a few times.
    constexpr int chunk = slice < 16 ? slice : 16;
    static_assert(slice % chunk == 0);
#pragma unroll 1
    for (int begin = k0; begin < k0 + slice; begin += chunk) {
      Fragments<eights> both[2];
      both[0].load(a, b, begin);
#pragma unroll
      for (int step = 0; step < chunk / 2; ++step) {
        if (step + 1 < chunk / 2) both[(step + 1) % 2].load(a, b, begin + 2 * step + 2);
        const Fragments<eights>& now = both[step % 2];
#pragma unroll
        for (int i = 0; i < eights; ++i)
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            float& sum = sums[i / 2][j / 2][i % 2 * 2 + j % 2];
            sum += now.left[i].x * now.right[j].x;
            sum += now.left[i].y * now.right[j].y;
          }
      }
    }
  }
  __device__ static float2 pair(const float* p) { return *reinterpret_cast<const float2*>(p); }

  template <int depth, bool b_along>
  __device__ static void multiply_rows(const float* tile, const int (&offset)[4],
                                       Operand<float, b_along> b, int k0, Sums& sums) {
    const int t = threadIdx.x % 4;
#pragma unroll 4
    for (int k = 0; k < depth; ++k) {
      float left[4], right[8];
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = tile[offset[i] + k];
#pragma unroll
      for (int j = 0; j < 8; ++j) right[j] = b.at(8 * (j / 2) + 2 * t + j % 2, k0 + k);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i / 2][j / 2][i % 2 * 2 + j % 2] += left[i] * right[j];
    }
  }

  template <int depth>
  __device__ static void multiply_columns(const float* tile, const int* table,
                                          Operand<float, false> b, int k0, Sums (&sums)[2]) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 4
    for (int k = k0; k < k0 + depth; ++k) {
      const float* from = tile + table[k];
      float left[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = from[g + 8 * i];
#pragma unroll
      for (int j = 0; j < 16; ++j) {
        const float right = b.at(8 * (j / 2) + 2 * t + j % 2, k);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[j / 8][i / 2][j / 2 % 4][i % 2 * 2 + j % 2] += left[i] * right;
      }
    }
  }
};

// Four 8×8 matrices of 16-bit elements, or 8×4 of 32 bits if not transposed; `lane`'s pointer names
// row lane % 8 of matrix lane / 8.
template <bool transposed>
__device__ inline void load_matrices(std::uint32_t (&r)[4], const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

// Products of floats by the tensor cores, which read the upper 11 bits of a mantissa. A float of two
// terms has the next 11 bits in a second number; three products of terms then have 22 bits, and
// their sum is added like one of plain floats, since the tensor cores round sums towards zero.
template <int terms>
struct TensorFloats {
  static_assert(terms == 1 || terms == 2);

  // What one instruction reads of an operand.
  template <int count>
  struct Fragment {
    float term[terms][count];
    // Integer arithmetic, since rounding to tf32 takes four instructions. A NaN is one in the second
    // term, whatever the first becomes, and so is an infinity.
    __device__ void split() {
      if constexpr (terms == 2)
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const float all = term[0][i];
          term[0][i] = __uint_as_float((__float_as_uint(all) + 0x1000u) & 0xffffe000u);
          term[1][i] = all - term[0][i];
        }
    }
  };
  using Left = Fragment<4>;
  using Right = Fragment<2>;

  template <int slice, bool a_along, bool b_along, int sixteens>
  __device__ static void multiply(Operand<float, a_along> a, Operand<float, b_along> b, int k0,
                                  SumsOf<sixteens>& sums) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row = lane % 8, matrix = lane / 8;
#pragma unroll
    for (int k = k0; k < k0 + slice; k += 8) {
      Left left[sixteens];
      Right right[4];
#pragma unroll
      for (int i = 0; i < sixteens; ++i) {
        if constexpr (a_along) {  // rows 0–7 and 8–15 of k 0–3, then of k 4–7
          load_floats(left[i].term[0],
                      a.tile + (16 * i + matrix % 2 * 8 + row) * a.pitch + k + matrix / 2 * 4);
        } else {
#pragma unroll
          for (int r = 0; r < 4; ++r)
            left[i].term[0][r] = a.at(16 * i + g + r % 2 * 8, k + t + r / 2 * 4);
        }
        left[i].split();
      }
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        if constexpr (b_along) {  // k 0–3 and 4–7 of columns 0–7, then of columns 8–15
          float both[4];
          load_floats(both, b.tile + (8 * j + matrix / 2 * 8 + row) * b.pitch + k + matrix % 2 * 4);
#pragma unroll
          for (int r = 0; r < 4; ++r) right[j + r / 2].term[0][r % 2] = both[r];
        } else {
#pragma unroll
          for (int r = 0; r < 4; ++r)
            right[j + r / 2].term[0][r % 2] = b.at(8 * (j + r / 2) + g, k + t + r % 2 * 4);
        }
        right[j].split(), right[j + 1].split();
      }
#pragma unroll
      for (int i = 0; i < sixteens; ++i) add(left[i], right, sums[i]);
    }
  }

  template <int depth, bool b_along>
  __device__ static void multiply_rows(const float* tile, const int (&offset)[4],
                                       Operand<float, b_along> b, int k0, Sums& sums) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int k = 0; k < depth; k += 8) {
      Left left[2];
      Right right[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
          left[i].term[0][r] = tile[offset[2 * i + r % 2] + k + t + r / 2 * 4];
        left[i].split();
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int r = 0; r < 2; ++r) right[j].term[0][r] = b.at(8 * j + g, k0 + k + t + r * 4);
        right[j].split();
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) add(left[i], right, sums[i]);
    }
  }

  template <int depth>
  __device__ static void multiply_columns(const float* tile, const int* table,
                                          Operand<float, false> b, int k0, Sums (&sums)[2]) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int k = k0; k < k0 + depth; k += 8) {
      const int place[2] = {table[k + t], table[k + t + 4]};
      Left left[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
          left[i].term[0][r] = tile[place[r / 2] + 16 * i + g + r % 2 * 8];
        left[i].split();
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Right right[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int r = 0; r < 2; ++r)
            right[j].term[0][r] = b.at(32 * half + 8 * j + g, k + t + r * 4);
          right[j].split();
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) add(left[i], right, sums[half][i]);
      }
    }
  }

  __device__ static void step(const float (&a)[4], const float (&b)[2], float (&c)[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
  }

 private:
  __device__ static void load_floats(float (&r)[4], const float* at) {
    std::uint32_t bits[4];
    load_matrices<false>(bits, at);
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = __uint_as_float(bits[i]);
  }
  // 16 rows of 32 columns: the smallest products first, and none waits for the one before it.
  __device__ static void add(const Left& a, const Right (&b)[4], float (&c)[4][4]) {
    float sums[4][4] = {};
#pragma unroll
    for (int pair = 2 * terms - 2; pair >= 0; --pair)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        step(a.term[pair / 2], b[j].term[pair % 2], terms == 1 ? c[j] : sums[j]);
#pragma unroll
    for (int i = 0; i < 16 && terms > 1; ++i) c[i / 4][i % 4] += sums[i / 4][i % 4];
  }
};

// `overflows`: the operands' range is so small that gradients may overflow it. `rows`: those of the
// left operand that a thread reads, for operands with arbitrary row positions.
//
// multiply_rows: left rows at `offset`, along the depth; the right operand's depth begins at k0.
// multiply_columns: depth k of the left operand is at table[k], across it, and that of the right in
// its rows; two blocks of 32 columns.
template <class Products>
struct Floats : Products {
  using Element = float;
  static constexpr bool overflows = false;
  static constexpr int rows = 4;
  __device__ static int row(int i) { return threadIdx.x % 32 / 4 + 8 * i; }
};

// Only Hopper has code of its own; every other GPU runs that of 8.0, and on those of workstations
// three products of terms would take longer than multiply-adds. multiplies_plainly in ops/tiles.h
// says the same to the choice of tiles. One type for host and device, which only the device's
// compiler looks into.
struct FastestFloats {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
  using Products = TensorFloats<2>;
#else
  using Products = PlainFloats;
#endif
  template <int slice, bool a_along, bool b_along, int sixteens>
  __device__ static void multiply(Operand<float, a_along> a, Operand<float, b_along> b, int k0,
                                  SumsOf<sixteens>& sums) {
    Products::template multiply<slice, a_along, b_along, sixteens>(a, b, k0, sums);
  }
  template <int depth, bool b_along>
  __device__ static void multiply_rows(const float* tile, const int (&offset)[4],
                                       Operand<float, b_along> b, int k0, Sums& sums) {
    Products::template multiply_rows<depth, b_along>(tile, offset, b, k0, sums);
  }
  template <int depth>
  __device__ static void multiply_columns(const float* tile, const int* table,
                                          Operand<float, false> b, int k0, Sums (&sums)[2]) {
    Products::template multiply_columns<depth>(tile, table, b, k0, sums);
  }
};

struct Fp32 : Floats<FastestFloats> {
  __device__ static void store(float* to, float4 v) { *reinterpret_cast<float4*>(to) = v; }
};

struct Tf32 : Floats<TensorFloats<1>> {
  __device__ static float round(float v) {
    std::uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return __uint_as_float(bits);
  }
  __device__ static void store(float* to, float4 v) {
    *reinterpret_cast<float4*>(to) = {round(v.x), round(v.y), round(v.z), round(v.w)};
  }
  __device__ static void store(float* to, float2 v) {
    *reinterpret_cast<float2*>(to) = {round(v.x), round(v.y)};
  }
};

template <class Half>
struct Half16 {
  using Element = Half;
  static constexpr bool overflows = std::is_same_v<Half, __half>;
  __device__ static std::uint32_t pack(float first, float second) {
    std::uint32_t both;  // the first operand becomes the upper half
    if (is_bf16())
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
  }
  __device__ static void store(Half* to, float4 v) {
    *reinterpret_cast<uint2*>(to) = {pack(v.x, v.y), pack(v.z, v.w)};
  }
  __device__ static void store(Half* to, float2 v) {
    *reinterpret_cast<std::uint32_t*>(to) = pack(v.x, v.y);
  }
  __device__ static constexpr bool is_bf16();

  template <int slice, bool a_along, bool b_along, int sixteens>
  __device__ static void multiply(Operand<Half, a_along> a, Operand<Half, b_along> b, int k0,
                                  SumsOf<sixteens>& sums) {
    const int row = threadIdx.x % 8, matrix = threadIdx.x % 32 / 8;
#pragma unroll
    for (int k = k0; k < k0 + slice; k += 16) {
      std::uint32_t left[sixteens][4], right[2][4];
#pragma unroll
      for (int i = 0; i < sixteens; ++i) {
        // rows 0–7 and 8–15 of k 0–7, then of k 8–15
        const int m = 16 * i + matrix % 2 * 8, kk = k + matrix / 2 * 8;
        load_matrices<!a_along>(left[i], a_along ? a.tile + (m + row) * a.pitch + kk
                                                 : a.tile + (kk + row) * a.pitch + m);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // k 0–7 and 8–15 of columns 0–7, then of columns 8–15
        const int n = 16 * i + matrix / 2 * 8, kb = k + matrix % 2 * 8;
        load_matrices<!b_along>(right[i], b_along ? b.tile + (n + row) * b.pitch + kb
                                                  : b.tile + (kb + row) * b.pitch + n);
      }
#pragma unroll
      for (int i = 0; i < sixteens; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) step(left[i], right[j / 2] + j % 2 * 2, sums[i][j]);
    }
  }

  static constexpr int rows = 2;
  __device__ static int row(int i) { return threadIdx.x % 16 + 16 * i; }

  template <int depth, bool b_along>
  __device__ static void multiply_rows(const Half* tile, const int (&offset)[rows],
                                       Operand<Half, b_along> b, int k0, Sums& sums) {
    const int row = threadIdx.x % 8, matrix = threadIdx.x % 32 / 8;
#pragma unroll
    for (int k = 0; k < depth; k += 16) {
      std::uint32_t left[2][4], right[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices<false>(left[i], tile + offset[i] + k + matrix / 2 * 8);
        const int n = 16 * i + matrix / 2 * 8, kb = k0 + k + matrix % 2 * 8;
        load_matrices<!b_along>(right[i], b_along ? b.tile + (n + row) * b.pitch + kb
                                                  : b.tile + (kb + row) * b.pitch + n);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) step(left[i], right[j / 2] + j % 2 * 2, sums[i][j]);
    }
  }

  template <int depth>
  __device__ static void multiply_columns(const Half* tile, const int* table,
                                          Operand<Half, false> b, int k0, Sums (&sums)[2]) {
    const int row = threadIdx.x % 8, matrix = threadIdx.x % 32 / 8;
#pragma unroll
    for (int k = k0; k < k0 + depth; k += 16) {
      std::uint32_t left[2][4];
      const Half* from = tile + table[k + matrix / 2 * 8 + row] + matrix % 2 * 8;
#pragma unroll
      for (int i = 0; i < 2; ++i) load_matrices<true>(left[i], from + 16 * i);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        std::uint32_t right[4];
        load_matrices<true>(
            right, b.tile + (k + matrix % 2 * 8 + row) * b.pitch + 16 * j + matrix / 2 * 8);
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int e = 0; e < 2; ++e) step(left[i], right + 2 * e, sums[j / 2][i][j % 2 * 2 + e]);
      }
    }
  }

 private:
  __device__ static void step(const std::uint32_t (&a)[4], const std::uint32_t* b, float (&c)[4]) {
    if (is_bf16())
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
template <>
__device__ constexpr bool Half16<__nv_bfloat16>::is_bf16() {
  return true;
}
template <>
__device__ constexpr bool Half16<__half>::is_bf16() {
  return false;
}
using Bf16 = Half16<__nv_bfloat16>;
using Fp16 = Half16<__half>;

}  // namespace sweetspot::engine::cuda
