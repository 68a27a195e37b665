// Winograd's minimal filtering. F(2×2, r×r), where the 2×2 outputs are one pooling window: (r + 1)²
// multiplications instead of 4r², 25 instead of 64 for the paper's 4×4 kernels. And F(m×m, r×r) for
// convolutions without pooling, with its gradients: 36 multiplications instead of 144 for 4×4
// outputs of a 3×3 kernel, or instead of 100 for 2×2 of a 5×5 one; or along the width alone, F(m,
// r). The caller stores each point of a transform in its own precision. Included by the kernels of
// each instruction set.
//
// y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A. A transform with n = m + r − 1 points interpolates a polynomial
// through n − 1 numbers and its highest coefficient ("∞"). The rounding error is about 5 times that
// of the direct sum: 3e-6 of a typical output for r = 4, m = 2 and 32 channels.

template <int n>
struct Nodes;
template <>
struct Nodes<4> {
  static constexpr float x[] = {0, 1, -1};
};
template <>
struct Nodes<5> {
  static constexpr float x[] = {0, 1, -1, 2};
};
template <>
struct Nodes<6> {
  static constexpr float x[] = {0, 1, -1, 2, -2};
};
template <>
struct Nodes<8> {
  static constexpr float x[] = {0, 1, -1, 2, -2, 1 / 2.f, -1 / 2.f};
};

template <int rows, int columns>
struct Matrix {
  float at[rows][columns] = {};
};

constexpr float power(float x, int exponent) { return exponent == 0 ? 1 : x * power(x, exponent - 1); }

// Π (x_j − x_l) over the other nodes.
template <int n>
constexpr float distances(int j) {
  float product = 1;
  for (int l = 0; l < n - 1; ++l)
    if (l != j) product *= Nodes<n>::x[j] - Nodes<n>::x[l];
  return product;
}

// (points, count): the powers of each node, divided by its distances if `divided`.
template <int n, int count>
constexpr Matrix<n, count> powers(bool divided) {
  Matrix<n, count> made;
  for (int j = 0; j < n - 1; ++j)
    for (int i = 0; i < count; ++i) {
      const float by = distances<n>(j);
      made.at[j][i] = power(Nodes<n>::x[j], i) / (divided ? (by < 0 ? -by : by) : 1);
    }
  made.at[n - 1][count - 1] = 1;
  return made;
}

template <int rows, int columns>
constexpr Matrix<columns, rows> turned(const Matrix<rows, columns>& from) {
  Matrix<columns, rows> made;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) made.at[j][i] = from.at[i][j];
  return made;
}

// Bᵀ: row j has the coefficients of Π (x − x_l) over the nodes other than j, with the sign of its
// distances; the last row has those over all nodes.
template <int n>
constexpr Matrix<n, n> input_matrix() {
  Matrix<n, n> made;
  for (int j = 0; j < n; ++j) {
    made.at[j][0] = j < n - 1 && distances<n>(j) < 0 ? -1 : 1;
    for (int l = 0; l < n - 1; ++l) {
      if (l == j) continue;
      for (int i = n - 1; i >= 0; --i)
        made.at[j][i] = (i > 0 ? made.at[j][i - 1] : 0) - Nodes<n>::x[l] * made.at[j][i];
    }
  }
  return made;
}

template <int m, int r>
struct FilterMatrices {
  static constexpr int n = m + r - 1;
  static constexpr Matrix<n, m> a = powers<n, m>(false);
  static constexpr Matrix<m, n> at = turned(a);
  static constexpr Matrix<n, r> g = powers<n, r>(true);
  static constexpr Matrix<r, n> gt = turned(g);
  static constexpr Matrix<n, n> bt = input_matrix<n>();
};

// out[i] = Σ_j matrix[i][j] · in[j], with stride between the elements of in and of out. The loops
// unroll, so that zeros and ones cost nothing.
template <int rows, int columns>
__attribute__((always_inline)) inline void transform(const Matrix<rows, columns>& matrix,
                                                     const vec* in, int in_stride, vec* out,
                                                     int out_stride) {
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    vec sum{};
    bool empty = true;
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
      const float c = matrix.at[i][j];
      if (c == 0) continue;
      const vec x = in[j * in_stride];
      sum = empty ? (c == 1 ? x : c * x) : c == 1 ? sum + x : c == -1 ? sum - x : sum + c * x;
      empty = false;
    }
    out[i * out_stride] = sum;
  }
}

// Elements of a square, or of a line if `flat`.
template <bool flat>
constexpr int area(int side) {
  return flat ? side : side * side;
}

// Along both axes, or along the only one if `flat`.
template <bool flat, int rows, int columns>
__attribute__((always_inline)) inline void transform_tile(const Matrix<rows, columns>& matrix,
                                                          const vec (&in)[area<flat>(columns)],
                                                          vec (&out)[area<flat>(rows)]) {
  if constexpr (flat) {
    transform(matrix, in, 1, out, 1);
  } else {
    vec half[rows * columns];
#pragma GCC unroll 8
    for (int x = 0; x < columns; ++x) transform(matrix, in + x, columns, half + x, columns);
#pragma GCC unroll 8
    for (int y = 0; y < rows; ++y) transform(matrix, half + y * columns, 1, out + y * rows, 1);
  }
}

// A tile of values, `side` on each axis. `column_stride`: if it is known here, not from `from`.
template <bool flat, int side, int column_stride>
__attribute__((always_inline)) inline void load_tile(TilePlace from, int v,
                                                     vec (&in)[area<flat>(side)]) {
  constexpr int lines = flat ? 1 : side;
  if constexpr (column_stride > 0) from.column_stride = column_stride;
#pragma GCC unroll 8
  for (int y = 0; y < lines; ++y)
#pragma GCC unroll 8
    for (int x = 0; x < side; ++x)
      in[y * side + x] = load(from.first + y * from.line_stride + x * from.column_stride + v);
}

template <int count, class Put>
__attribute__((always_inline)) inline void put_points(const vec (&out)[count], int v, Put put) {
#pragma GCC unroll 64
  for (int p = 0; p < count; ++p) put(p, v, out[p]);
}

// `taps`: gives register v of a tap.
template <int m, int r, bool flat, class Taps, class Put>
void filter_weights_of(Taps taps, Put put) {
  constexpr int count = area<flat>(r);
  for (int v = 0; v < 16; v += lanes) {
    vec in[count], out[area<flat>(m + r - 1)];
#pragma GCC unroll 25
    for (int t = 0; t < count; ++t) in[t] = taps(t, v);
    transform_tile<flat>(FilterMatrices<m, r>::g, in, out);
    put_points(out, v, put);
  }
}

template <int side, bool flat, int column_stride, class Put>
void filter_input_of(TilePlace from, Put put) {
  for (int v = 0; v < 16; v += lanes) {
    vec in[area<flat>(side)], out[area<flat>(side)];
    load_tile<flat, side, column_stride>(from, v, in);
    transform_tile<flat>(FilterMatrices<2, side - 1>::bt, in, out);
    put_points(out, v, put);
  }
}

template <int m, int r, bool flat, class Put>
void filter_gradient_of(TilePlace from, Put put) {
  for (int v = 0; v < 16; v += lanes) {
    vec in[area<flat>(m)], out[area<flat>(m + r - 1)];
    load_tile<flat, m, 16>(from, v, in);
    transform_tile<flat>(FilterMatrices<m, r>::a, in, out);
    put_points(out, v, put);
  }
}

template <class Put>
void winograd_weights_any(std::int64_t r, const float* taps, std::int64_t tap_stride, Put put) {
  const auto tap = [=](int t, int v) { return load(taps + t * tap_stride + v); };
  if (r == 3) return filter_weights_of<2, 3, false>(tap, put);
  if (r == 4) return filter_weights_of<2, 4, false>(tap, put);
  filter_weights_of<2, 5, false>(tap, put);
}

template <class Put>
void winograd_input_any(std::int64_t r, const float* plane, std::int64_t line_stride, Put put) {
  const TilePlace from{plane, line_stride, 16};
  if (r == 3) return filter_input_of<4, false, 16>(from, put);
  if (r == 4) return filter_input_of<5, false, 16>(from, put);
  filter_input_of<6, false, 16>(from, put);
}
