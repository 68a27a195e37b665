// Winograd's minimal filtering. F(2×2, r×r), where the 2×2 outputs are one pooling window: (r + 1)²
// multiplications instead of 4r², 25 instead of 64 for the paper's 4×4 kernels. And F(m×m, r×r) for
// convolutions without pooling, with its gradients: 36 multiplications instead of 144 for 4×4
// outputs of a 3×3 kernel, or instead of 100 for 2×2 of a 5×5 one. The caller stores each point of
// a transform in its own precision. Included by the kernels of each instruction set.
//
// y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A with interpolation points 0, 1, −1, 2, −2 and ∞ (as many as r +
// 1); the matrices follow from the Vandermonde matrix of the points, with the denominators in G.
// The rounding error is about 5 times that of the direct sum: 3e-6 of a typical output for r = 4
// and 32 channels.

template <int r>
struct WinogradMatrices;

template <>
struct WinogradMatrices<3> {
  static constexpr float at[2][4] = {{1, 1, 1, 0}, {0, 1, -1, 1}};
  static constexpr float g[4][3] = {
      {1, 0, 0}, {1 / 2.f, 1 / 2.f, 1 / 2.f}, {1 / 2.f, -1 / 2.f, 1 / 2.f}, {0, 0, 1}};
  static constexpr float bt[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}};
};

template <>
struct WinogradMatrices<4> {
  static constexpr float at[2][5] = {{1, 1, 1, 1, 0}, {0, 1, -1, 2, 1}};
  static constexpr float g[5][4] = {{1 / 2.f, 0, 0, 0},
                                    {1 / 2.f, 1 / 2.f, 1 / 2.f, 1 / 2.f},
                                    {1 / 6.f, -1 / 6.f, 1 / 6.f, -1 / 6.f},
                                    {1 / 6.f, 1 / 3.f, 2 / 3.f, 4 / 3.f},
                                    {0, 0, 0, 1}};
  static constexpr float bt[5][5] = {
      {2, -1, -2, 1, 0}, {0, 2, 1, -1, 0}, {0, -2, 3, -1, 0}, {0, -1, 0, 1, 0}, {0, 2, -1, -2, 1}};
};

template <>
struct WinogradMatrices<5> {
  static constexpr float at[2][6] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}};
  static constexpr float g[6][5] = {{1 / 4.f, 0, 0, 0, 0},
                                    {1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f},
                                    {1 / 6.f, -1 / 6.f, 1 / 6.f, -1 / 6.f, 1 / 6.f},
                                    {1 / 24.f, 1 / 12.f, 1 / 6.f, 1 / 3.f, 2 / 3.f},
                                    {1 / 24.f, -1 / 12.f, 1 / 6.f, -1 / 3.f, 2 / 3.f},
                                    {0, 0, 0, 0, 1}};
  static constexpr float bt[6][6] = {{4, 0, -5, 0, 1, 0},  {0, 4, 4, -1, -1, 0},
                                     {0, -4, 4, 1, -1, 0}, {0, -2, -1, 2, 1, 0},
                                     {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
};

// out[i] = Σ_j matrix[i][j] · in[j], with stride between the elements of in and of out. The loops
// unroll, so that zeros and ones cost nothing.
template <int rows, int columns>
__attribute__((always_inline)) inline void transform(const float (&matrix)[rows][columns],
                                                     const vec* in, int in_stride, vec* out,
                                                     int out_stride) {
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    vec sum{};
    bool empty = true;
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
      const float c = matrix[i][j];
      if (c == 0) continue;
      const vec x = in[j * in_stride];
      sum = empty ? (c == 1 ? x : c * x) : c == 1 ? sum + x : c == -1 ? sum - x : sum + c * x;
      empty = false;
    }
    out[i * out_stride] = sum;
  }
}

template <int rows, int columns>
__attribute__((always_inline)) inline void transform_square(const float (&matrix)[rows][columns],
                                                            const vec (&in)[columns * columns],
                                                            vec (&out)[rows * rows]) {
  vec half[rows * columns];
#pragma GCC unroll 8
  for (int x = 0; x < columns; ++x) transform(matrix, in + x, columns, half + x, columns);
#pragma GCC unroll 8
  for (int y = 0; y < rows; ++y) transform(matrix, half + y * columns, 1, out + y * rows, 1);
}

template <int r, class Put>
void winograd_weights_of(const float* taps, std::int64_t tap_stride, Put put) {
  for (int v = 0; v < 16; v += lanes) {
    vec in[r * r], out[(r + 1) * (r + 1)];
#pragma GCC unroll 32
    for (int t = 0; t < r * r; ++t) in[t] = load(taps + t * tap_stride + v);
    transform_square(WinogradMatrices<r>::g, in, out);
#pragma GCC unroll 64
    for (int p = 0; p < (r + 1) * (r + 1); ++p) put(p, v, out[p]);
  }
}

template <int r, class Put>
void winograd_input_of(const float* plane, std::int64_t line_stride, Put put) {
  constexpr int n = r + 1;
  for (int v = 0; v < 16; v += lanes) {
    vec in[n * n], out[n * n];
#pragma GCC unroll 8
    for (int y = 0; y < n; ++y)
#pragma GCC unroll 8
      for (int x = 0; x < n; ++x) in[y * n + x] = load(plane + y * line_stride + x * 16 + v);
    transform_square(WinogradMatrices<r>::bt, in, out);
#pragma GCC unroll 64
    for (int p = 0; p < n * n; ++p) put(p, v, out[p]);
  }
}

// F(m×m, r×r). Its input transform is that of F(2×2, …) with as many points.
template <int m, int r>
struct FilterMatrices;

template <>
struct FilterMatrices<2, 3> {
  static constexpr float at[2][4] = {{1, 1, 1, 0}, {0, 1, -1, 1}};
  static constexpr float a[4][2] = {{1, 0}, {1, 1}, {1, -1}, {0, 1}};
  static constexpr float g[4][3] = {
      {1, 0, 0}, {1 / 2.f, 1 / 2.f, 1 / 2.f}, {1 / 2.f, -1 / 2.f, 1 / 2.f}, {0, 0, 1}};
  static constexpr float gt[3][4] = {
      {1, 1 / 2.f, 1 / 2.f, 0}, {0, 1 / 2.f, -1 / 2.f, 0}, {0, 1 / 2.f, 1 / 2.f, 1}};
};

template <>
struct FilterMatrices<4, 3> {
  static constexpr float at[4][6] = {
      {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
  static constexpr float a[6][4] = {{1, 0, 0, 0}, {1, 1, 1, 1},   {1, -1, 1, -1},
                                    {1, 2, 4, 8}, {1, -2, 4, -8}, {0, 0, 0, 1}};
  static constexpr float g[6][3] = {{1 / 4.f, 0, 0},
                                    {1 / 6.f, 1 / 6.f, 1 / 6.f},
                                    {1 / 6.f, -1 / 6.f, 1 / 6.f},
                                    {1 / 24.f, 1 / 12.f, 1 / 6.f},
                                    {1 / 24.f, -1 / 12.f, 1 / 6.f},
                                    {0, 0, 1}};
  static constexpr float gt[3][6] = {{1 / 4.f, 1 / 6.f, 1 / 6.f, 1 / 24.f, 1 / 24.f, 0},
                                     {0, 1 / 6.f, -1 / 6.f, 1 / 12.f, -1 / 12.f, 0},
                                     {0, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1}};
};

template <>
struct FilterMatrices<2, 5> : WinogradMatrices<5> {
  static constexpr float a[6][2] = {{1, 0}, {1, 1}, {1, -1}, {1, 2}, {1, -2}, {0, 1}};
  static constexpr float gt[5][6] = {{1 / 4.f, 1 / 6.f, 1 / 6.f, 1 / 24.f, 1 / 24.f, 0},
                                     {0, 1 / 6.f, -1 / 6.f, 1 / 12.f, -1 / 12.f, 0},
                                     {0, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 0},
                                     {0, 1 / 6.f, -1 / 6.f, 1 / 3.f, -1 / 3.f, 0},
                                     {0, 1 / 6.f, 1 / 6.f, 2 / 3.f, 2 / 3.f, 1}};
};

template <int m, int r, class Put>
void filter_weights_of(const float* taps, std::int64_t tap_stride, Put put) {
  for (int v = 0; v < 16; v += lanes) {
    vec in[r * r], out[(m + r - 1) * (m + r - 1)];
#pragma GCC unroll 25
    for (int t = 0; t < r * r; ++t) in[t] = load(taps + t * tap_stride + v);
    transform_square(FilterMatrices<m, r>::g, in, out);
#pragma GCC unroll 64
    for (int p = 0; p < (m + r - 1) * (m + r - 1); ++p) put(p, v, out[p]);
  }
}

template <int m, int r, class Put>
void filter_gradient_of(const float* plane, std::int64_t line_stride, Put put) {
  for (int v = 0; v < 16; v += lanes) {
    vec in[m * m], out[(m + r - 1) * (m + r - 1)];
#pragma GCC unroll 4
    for (int y = 0; y < m; ++y)
#pragma GCC unroll 4
      for (int x = 0; x < m; ++x) in[y * m + x] = load(plane + y * line_stride + x * 16 + v);
    transform_square(FilterMatrices<m, r>::a, in, out);
#pragma GCC unroll 64
    for (int p = 0; p < (m + r - 1) * (m + r - 1); ++p) put(p, v, out[p]);
  }
}

template <class Put>
void filter_weights_any(Filter f, const float* taps, std::int64_t tap_stride, Put put) {
  if (f.size == 5) return filter_weights_of<2, 5>(taps, tap_stride, put);
  if (f.tile == 2) return filter_weights_of<2, 3>(taps, tap_stride, put);
  filter_weights_of<4, 3>(taps, tap_stride, put);
}

template <class Put>
void filter_gradient_any(Filter f, const float* plane, std::int64_t line_stride, Put put) {
  if (f.size == 5) return filter_gradient_of<2, 5>(plane, line_stride, put);
  if (f.tile == 2) return filter_gradient_of<2, 3>(plane, line_stride, put);
  filter_gradient_of<4, 3>(plane, line_stride, put);
}

template <class Put>
void winograd_weights_any(std::int64_t r, const float* taps, std::int64_t tap_stride, Put put) {
  if (r == 3) return winograd_weights_of<3>(taps, tap_stride, put);
  if (r == 4) return winograd_weights_of<4>(taps, tap_stride, put);
  winograd_weights_of<5>(taps, tap_stride, put);
}

template <class Put>
void winograd_input_any(std::int64_t r, const float* plane, std::int64_t line_stride, Put put) {
  if (r == 3) return winograd_input_of<3>(plane, line_stride, put);
  if (r == 4) return winograd_input_of<4>(plane, line_stride, put);
  winograd_input_of<5>(plane, line_stride, put);
}
