#include "engine/cpu/ops/dense.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/cpu/ops/depth_split.h"
#include "engine/cpu/ops/few_columns.h"
#include "engine/cpu/ops/packed_outer.h"
#include "engine/cpu/ops/rounded_rows.h"
#include "engine/cpu/ops/rounded_weights.h"
#include "engine/cpu/ops/weight_chunks.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Rows of a micro-batch that a thread multiplies at once, so that they stay in its L2 cache.
constexpr std::int64_t row_chunk = 48;
// The same for gradients in bf16. Two panels of weights fill the L1 cache, and with zeros skipped
// fewer rows would not pay for loading them.
constexpr std::int64_t rounded_row_chunk = 192;
constexpr std::int64_t gradient_chunk = WeightChunks::most_floats;
// Up to here the input gradient is cheaper without transposing the weights, unless the columns are
// even fewer: each of its elements is then a sum over all lanes of a few registers.
constexpr std::int64_t few_rows = 16;
bool pays_to_transpose(const DenseGeometry& g, std::int64_t rows) {
  return rows > std::min(few_rows, g.columns / unit);
}

// Weights that a step should not write to memory once more: a panel at a time is transposed in
// cache where it is used.
constexpr std::int64_t weights_beyond_cache = 256 * 1024;
constexpr std::int64_t many_columns = panel, many_columns_in_bf16 = 4 * panel;
// Weights that every thread may read for its own rows, even if these are smaller: a few times an L2
// cache.
constexpr std::int64_t shared_size = 1024 * 1024;

// Rows for which the input gradient turns such weights tile by tile in the L1 cache and uses each
// tile at once. It loads and stores the sums for each, which costs more than it saves if the rows
// are many, unless half of the gradients are zero: a product that skips zeros does so anyway.
bool pays_to_turn_tiles(const DenseGeometry& g, std::int64_t rows) {
  const std::int64_t weights = g.depth * g.columns;
  const std::int64_t least_rows = 5, most_rows = g.relu ? 1024 : 256;
  return g.columns >= many_columns && weights >= weights_beyond_cache && rows >= least_rows &&
         rows <= std::min(weights / 4096, most_rows);
}

// Fewer samples are not packed.
constexpr std::int64_t packed_rows = 64;
constexpr std::int64_t packed_input_floats = packed_rows * gradient_chunk / panel;
// bf16 gradients that stay in the L2 cache as pairs, so that a step pairs each number once. CPUs
// with tiles have 2 MiB of it.
std::int64_t most_paired(bool tiles) { return (tiles ? 512 : 128) * 1024; }

// bf16 products amortise rounding their operands if a row meets many columns, and the weights many
// rows.
bool pays_in_bf16(const DenseGeometry& g, std::int64_t rows) {
  return g.bf16 && g.columns >= panel && g.depth >= panel && rows > few_rows;
}

bool pairs_all_gradients(const DenseGeometry& g, std::int64_t rows) {
  return pays_in_bf16(g, rows) && round_up(rows, 2) * g.columns <= most_paired(g.tiles);
}
// For the weight gradient rounded inputs are turned, if they are tiles: half as many bytes.
bool turns_rounded_inputs(const DenseGeometry& g, std::int64_t rows) {
  return g.tiles && g.depth % (2 * unit) == 0 && pairs_all_gradients(g, rows);
}

// The weights are multiplied with every row of the micro-batch, so a dense layer works on all of it
// at once: a thread has some panels of columns, some rows of the gradient, or some of the inputs. A
// write into a cache line that another core has read waits for that core, ten times as long as the
// optimizer's arithmetic if the cores share no cache. So if the rows are few, a thread has the
// weights of the same inputs in every pass, and no other thread reads them.
class Dense final : public Op {
 public:
  Dense(std::string name, const DenseGeometry& geometry, std::int64_t micro_batch, Tensor* in,
        Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        most_rows_(micro_batch * g_.rows),
        split_(g_.depth, g_.columns, most_rows_),
        splits_(g_.wants_input_gradient && split_.pays() && !pays_in_bf16(g_, most_rows_)),
        bf16_(pays_in_bf16(g_, most_rows_)),
        turns_tiles_(!bf16_ && pays_to_turn_tiles(g_, most_rows_)),
        transposes_(!turns_tiles_ && pays_to_transpose(g_, most_rows_)),
        by_panels_(transposes_ && g_.columns >= (bf16_ ? many_columns_in_bf16 : many_columns) &&
                   g_.depth * g_.columns >= weights_beyond_cache),
        packs_(most_rows_ >= 2 * packed_rows && g_.columns >= panel),
        narrow_(transposes_ && !splits_ && g_.outputs <= narrow_outputs),
        pairs_gradients_(pairs_all_gradients(g_, most_rows_)),
        turns_rounded_(turns_rounded_inputs(g_, most_rows_)) {
    shared_floats = transposes_ && !by_panels_ ? g_.depth * g_.columns : 0;
    working.bytes =
        sizeof(float) *
        static_cast<core::Bytes>(std::max(
            {by_panels_ ? transposed_panels() * g_.columns * panel : 0,
             turns_tiles_ ? 2 * panel * panel : 0,
             packs_ ? PackedOuter::floats(most_rows_, g_.columns, gradient_chunk / panel) : 0,
             narrow_ ? FewColumns::floats : 0, splits_ ? 2 * sums_of_panel() : 0}));
    passing.once = true;
    if (g_.wants_input_gradient && !bf16_)
      passing.bytes = sizeof(float) * static_cast<core::Bytes>(split_.most_sum_rows() * g_.columns);
    if (bf16_) {
      shared_floats = g_.depth * g_.columns / (by_panels_ ? 2 : 1);
      const std::int64_t even = round_up(most_rows_, 2);
      const std::int64_t packed = pairs_gradients_ ? round_up(even, 32) * gradient_chunk / panel
                                                   : even * panel + packed_input_floats;
      working.bytes =
          sizeof(Bf16) * static_cast<core::Bytes>(std::max(
                             by_panels_ ? rounded_panels() * g_.columns * panel : 0, packed));
      kept.once = true;
      kept.bytes = sizeof(Bf16) * static_cast<core::Bytes>(
                                      kept_rows() * ((in->rounded ? 0 : g_.depth) + g_.columns) +
                                      (pairs_gradients_ ? even * round_up(g_.columns, panel) : 0));
    }
    ScratchLayout scratch;
    scratch.add_floats(pairs_chunks() ? 2 * gradient_chunk : gradient_chunk);
    temporary.bytes = scratch.size();
  }

  std::string method() const override {
    return std::string(g_.relu ? "dense and ReLU" : "dense") + (bf16_ ? " in bf16" : "");
  }
  bool whole() const override { return true; }
  bool keeps_input() const override { return in_->rounded || !turns_rounded_; }
  bool keeps_output() const override { return g_.relu; }
  bool late() const override { return true; }
  int forward_phases() const override { return splits_ || (bf16_ && !in_->rounded) ? 2 : 1; }
  int backward_phases() const override { return g_.relu || bf16_ ? 2 : 1; }

  void forward_part(const Pass& pass, int phase, int part, int parts) override {
    if (splits_)
      return phase == 0 ? multiply_own_weights(pass, part, parts) : add_up(pass, part, parts);
    if (bf16_)
      return phase + 1 < forward_phases()
                 ? rounded_inputs(pass).round(pass, inputs(pass), part, parts)
                 : forward_rounded(pass, part, parts);
    if (narrow_) return multiply_narrow(pass, share(all_rows(pass), part, parts));
    const bool own = has_own_rows(pass, parts);
    const Range mine = own ? share(all_rows(pass), part, parts) : Range{0, all_rows(pass)};
    each_block(mine.end - mine.begin, g_.columns, g_.depth, rows_at_once(own, parts),
               own ? 0 : part, own ? 1 : parts,
               [&](std::int64_t n, std::int64_t panels, std::int64_t first, std::int64_t rows,
                   const Range& depth) {
                 const std::int64_t row = mine.begin + first;
                 Multiply m = product(pass, {n, row, rows}, depth);
                 m.adds = depth.begin > 0, m.relu = g_.relu && depth.end == g_.depth;
                 m.c = pass.at(out_->value, 0, 0) + row * g_.columns + n;
                 m.c_row_stride = g_.columns;
                 multiply(pass, m, panels, {g_.depth * panel, panel});
               });
  }

  void backward_part(const Pass& pass, int phase, int part, int parts) override {
    if (phase + 1 < backward_phases()) {
      if (pairs_gradients_) return take_gradients(pass, part, parts);
      if (bf16_) return mask_and_round(pass, own_rows(all_rows(pass), part, parts));
      if (g_.relu) mask(pass, share(all_rows(pass), part, parts));
      return;
    }
    if (wants_input_gradient) make_input_gradient(pass, part, parts);
    Packed packed(pass.at(working, 0, part), g_.columns);
    if (!pass.late_gradients)
      each_chunk(part, parts, [&](const Chunk& chunk) {
        make_weights(pass, part, chunk, packed,
                     {pass.gradients + offset(chunk.column, chunk.row), g_.depth * panel},
                     pass.adds);
      });
    if (!pairs_gradients_) make_bias(pass, part, parts);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (bf16_) return rounded_weights(pass).round(pass, part, parts);
    if (keeps_transpose(pass))
      transpose_weights(pass, pass.weights + g_.weights, g_.depth, g_.columns,
                        transposed_panel_at(pass, 0), part, parts);
  }

  void update_part(const Pass& pass, const Update& update, int thread, int part,
                   int parts) override {
    auto* piece = pass.at(temporary, 0, thread);
    Packed packed(pass.at(working, 0, thread), g_.columns);
    const auto update_chunk = [&](const Chunk& chunk, const Chunk& next) {
      if (turns_rounded_) packed.ahead = state_of(update, next);
      make_weights(pass, thread, chunk, packed, {piece, gradient_chunk}, false);
      for (std::int64_t p = 0; p < chunk.panels; ++p)
        apply(pass, update, {chunk.column + p * panel, chunk.row, chunk.depth, 1},
              {next.column + std::min(p, next.panels - 1) * panel, next.row, next.depth, 1},
              piece + p * gradient_chunk);
    };
    std::optional<Chunk> last;
    each_chunk(part, parts, [&](const Chunk& next) {
      if (last) update_chunk(*last, next);
      last = next;
    });
    if (last) update_chunk(*last, *last);
  }
  bool prepares_in_update() const override { return true; }

  Range late_weights() const override {
    const auto begin = static_cast<std::int64_t>(g_.weights);
    return {begin, begin + g_.depth * g_.columns};
  }

 private:
  // Weights of one or two panels of columns, rows [row, row + depth).
  struct Chunk {
    std::int64_t column, row, depth, panels;
  };

  // In fp32.
  bool keeps_transpose(const Pass& pass) const {
    return transposes_ && !by_panels_ && (narrow_ || (wants_input_gradient && pass.training));
  }
  float* transposed_panel_at(const Pass& pass, std::int64_t row) const {
    return pass.shared + shared_offset + row * g_.columns;
  }

  // The gradients of weights in one panel; leaves these as the next step reads them, and asks for
  // those of the next chunk.
  void apply(const Pass& pass, const Update& update, const Chunk& chunk, const Chunk& next,
             float* gradients) const {
    const std::int64_t n = chunk.column, k = chunk.row, end = k + chunk.depth;
    const std::int64_t count = chunk.depth * width(n);
    // What follows a shorter chunk may be another thread's, which is writing it.
    const bool fits = next.depth * width(next.column) >= count;
    const Following following{fits ? offset(next.column, next.row) - offset(n, k) : 0,
                              turns_rounded_ ? arrays_of_optimizer : Following{}.arrays};
    if (bf16_) {
      const RoundedWeights rounded = rounded_weights(pass);
      if (!update.apply_to_pairs(*pass.bf16, offset(n, k), chunk.depth, gradients, following,
                                 rounded.pairs_at(pass, n, k))) {
        update.apply(offset(n, k), count, gradients, following);
        rounded.round_rows(pass, n, k, end);
      }
      return rounded.round_transposed(pass, n, k, end);
    }
    update.apply(offset(n, k), count, gradients, following);
    if (keeps_transpose(pass))
      for (std::int64_t row = k; row < end; row += unit)
        transpose_tile(pass, pass.weights + g_.weights, {g_.depth, g_.columns}, row, n,
                       transposed_panel_at(pass, row / panel * panel));
  }

  // The arrays that the optimizer fetches itself; products on tiles, which read nothing from beyond
  // the L2 cache, fetch the others of the next chunk.
  static constexpr int arrays_of_optimizer = 2;
  std::array<Ahead, 3> state_of(const Update& update, const Chunk& chunk) const {
    std::array<Ahead, 3> ahead;
    const auto memory = update.memory(offset(chunk.column, chunk.row));
    for (std::size_t i = arrays_of_optimizer; i < memory.size(); ++i)
      if (memory[i])
        ahead[i] = {memory[i],
                    chunk.depth * width(chunk.column) * static_cast<std::int64_t>(sizeof(float))};
    return ahead;
  }

  // The rows of all samples are stored one after another.
  std::int64_t all_rows(const Pass& pass) const { return pass.count * g_.rows; }
  // Whether a part has some rows of each product, and not some columns.
  bool has_own_rows(const Pass& pass, int parts) const {
    const std::int64_t weights = g_.depth * g_.columns;
    return splits_rows(all_rows(pass), parts) &&
           (weights <= shared_size ||
            2 * weights <= all_rows(pass) / parts * (g_.depth + g_.columns));
  }
  // Rows of a part that meet a block of the weights one after another. Weights that come from
  // beyond the L2 cache, or that all parts read, serve more of them, if inputs and outputs stay in
  // it.
  std::int64_t rows_at_once(bool own, int parts) const {
    constexpr std::int64_t least = 2 * row_chunk, most = 8 * row_chunk, cached = 192 * 1024;
    if (!own && g_.depth * g_.columns <= weights_beyond_cache) return least;
    const std::int64_t columns = own ? g_.columns : pieces(g_.columns, parts);
    return std::clamp<std::int64_t>(cached / columns, least, most);
  }
  // Panels that are transposed side by side, up to 256 KiB: a row of the gradient is then written
  // in longer runs.
  std::int64_t transposed_panels() const {
    return std::clamp<std::int64_t>(64 * 1024 / (g_.columns * panel), 1, pieces(g_.depth, panel));
  }
  const float* inputs(const Pass& pass) const { return pass.at(in_->value, 0, 0); }
  float* gradients(const Pass& pass) const { return pass.at(out_->gradient, 0, 0); }

  // Row k of the panel that begins at column n.
  std::int64_t offset(std::int64_t n, std::int64_t k) const {
    return static_cast<std::int64_t>(g_.weights) + n * g_.depth +
           k * std::min(panel, g_.columns - n);
  }

  // Rows of a panel of columns.
  struct Tile {
    std::int64_t column, row, rows;
  };
  std::int64_t width(std::int64_t column) const { return std::min(panel, g_.columns - column); }

  // A tile of the outputs, from some rows of the weights.
  Multiply product(const Pass& pass, const Tile& tile, const Range& depth) const {
    Multiply m{};
    m.a = inputs(pass) + tile.row * g_.depth + depth.begin, m.row_stride = g_.depth;
    m.rows = tile.rows, m.segments = 1, m.run = depth.end - depth.begin;
    m.b = pass.weights + offset(tile.column, depth.begin), m.width = width(tile.column);
    m.bias = g_.bias && depth.begin == 0 ? pass.weights + *g_.bias + tile.column : nullptr;
    m.c_unit_stride = unit;
    return m;
  }

  static void multiply(const Pass& pass, const Multiply& m, std::int64_t panels,
                       const SecondPanel& second) {
    panels == 2 ? pass.kernels->multiply_two(m, second) : pass.kernels->multiply(m);
  }
  static void multiply(const Pass& pass, const Product<Bf16>& m, std::int64_t panels,
                       const SecondPanel& second) {
    panels == 2 ? pass.bf16->multiply_two(m, second) : pass.bf16->multiply(m);
  }

  void multiply_narrow(const Pass& pass, const Range& rows) const {
    pass.kernels->narrow({inputs(pass) + rows.begin * g_.depth, g_.depth, rows.end - rows.begin,
                          g_.depth, pass.shared + shared_offset, g_.outputs,
                          g_.bias ? pass.weights + *g_.bias : nullptr, g_.relu,
                          pass.at(out_->value, 0, 0) + rows.begin * g_.columns, g_.columns});
  }

  // Calls visit(first, rows) for cuts of some rows whose sums are made at once.
  template <class Visit>
  static void each_cut_of(const Range& rows, Visit visit) {
    const std::int64_t count = rows.end - rows.begin, cuts = pieces(count, sum_rows);
    for (std::int64_t cut = 0; cut < cuts; ++cut) {
      const std::int64_t begin = count * cut / cuts, end = count * (cut + 1) / cuts;
      visit(rows.begin + begin, end - begin);
    }
  }

  // Two panels at once if the part has the same weights of both, for rows that may skip zeros.
  void multiply_own_weights(const Pass& pass, int part, int parts) const {
    float* sums = pass.at(working, 0, part);
    const auto leaves = [&](std::int64_t column) {
      return split_.leaves(column / panel, part, parts);
    };
    for (std::int64_t n = 0, panels; n < g_.columns; n += panels * panel) {
      const Range mine = leaves(n);
      panels = 1;
      if (all_rows(pass) >= few_rows && n + 2 * panel <= g_.columns) {
        const Range next = leaves(n + panel);
        if (mine.begin == next.begin && mine.end == next.end) panels = 2;
      }
      each_cut_of({0, all_rows(pass)}, [&](std::int64_t row, std::int64_t rows) {
        split_.each_node(mine, [&](const Range& node) {
          sum_node(pass, {n, row, rows}, node, sums, panels);
          for (std::int64_t p = 0; p < panels; ++p) {
            const Tile tile{n + p * panel, row, rows};
            const float* sum = sums + p * sums_of_panel();
            if (parts > 1)
              pass.kernels->stream(sum, rows * width(tile.column), handed_over(pass, tile, node));
            else
              put_out(pass, tile, sum);
          }
        });
      });
    }
  }

  void add_up(const Pass& pass, int part, int parts) const {
    if (parts == 1) return;
    float* sum = pass.at(working, 0, part);
    for (std::int64_t n = 0; n < g_.columns; n += panel)
      each_cut_of(share(all_rows(pass), part, parts), [&](std::int64_t row, std::int64_t rows) {
        const Tile tile{n, row, rows};
        sum_node(pass, tile, {0, split_.leaves()}, sum, 1, parts);
        put_out(pass, tile, sum);
      });
  }

  // Rows whose sums are made at once, and the floats of one panel's, with those of the levels
  // below.
  static constexpr std::int64_t sum_rows = 96;
  std::int64_t sums_of_panel() const { return split_.levels() * sum_rows * panel; }

  // Of one panel, or two. With `parts`: sums what they handed over, of one.
  void sum_node(const Pass& pass, const Tile& tile, const Range& node, float* to,
                std::int64_t panels, int parts = 0) const {
    const std::int64_t floats = tile.rows * width(tile.column);
    if (parts > 0 && split_.has_one_owner(node, tile.column / panel, parts)) {
      std::copy_n(handed_over(pass, tile, node), floats, to);
    } else if (node.end - node.begin == 1) {
      Multiply m = product(pass, tile, split_.rows(node));
      m.c = to, m.c_row_stride = m.width;
      multiply(pass, m, panels, {g_.depth * panel, sums_of_panel()});
    } else {
      const std::int64_t middle = (node.begin + node.end) / 2;
      float* other = to + sum_rows * panel;
      sum_node(pass, tile, {node.begin, middle}, to, panels, parts);
      sum_node(pass, tile, {middle, node.end}, other, panels, parts);
      for (std::int64_t p = 0; p < panels; ++p)
        pass.kernels->add(other + p * sums_of_panel(), floats, to + p * sums_of_panel());
    }
  }

  // The location of a tile of a node's sum, by the node's first leaf.
  float* handed_over(const Pass& pass, const Tile& tile, const Range& node) const {
    const std::int64_t all = all_rows(pass);
    return pass.at(passing, 0, 0) + (node.begin * g_.columns + tile.column) * all +
           tile.row * width(tile.column);
  }

  void put_out(const Pass& pass, const Tile& tile, const float* sum) const {
    const std::int64_t count = width(tile.column);
    float* to = pass.at(out_->value, 0, 0) + tile.row * g_.columns + tile.column;
    for (std::int64_t r = 0; r < tile.rows; ++r, sum += count, to += g_.columns)
      g_.relu ? pass.kernels->activate(Function::relu, sum, count, to)
              : static_cast<void>(std::copy_n(sum, count, to));
  }

  // In bf16 the chunks of the same inputs are adjacent, so that these are paired once; in fp32
  // those of a few neighbouring panels, which share their packed inputs.
  template <class Visit>
  void each_chunk(int part, int parts, Visit visit) const {
    const std::int64_t side_by_side =
        pairs_gradients_ ? pieces(g_.columns, panel) : PackedOuter::most_panels;
    WeightChunks{g_.depth, g_.columns, side_by_side, pairs_chunks()}.each(
        splits_ ? &split_ : nullptr, part, parts,
        [&](std::int64_t column, std::int64_t row, std::int64_t depth, std::int64_t panels) {
          visit(Chunk{column, row, depth, panels});
        });
  }
  // Two panels at once skip zeros faster than one; few rows do not skip them.
  bool pairs_chunks() const {
    return bf16_ ? pairs_gradients_ && !g_.tiles : most_rows_ >= 2 * unit;
  }
  // Panels of transposed weights that meet the gradients at once, in bf16: two, as above.
  std::int64_t rounded_panels() const { return g_.tiles ? 1 : 2; }

  // In the shared memory; transposed too unless they are large.
  RoundedWeights rounded_weights(const Pass& pass) const {
    return {reinterpret_cast<Bf16*>(pass.shared + shared_offset), pass.weights + g_.weights,
            g_.depth, g_.columns, !by_panels_ && wants_input_gradient};
  }
  RoundedRows rounded_inputs(const Pass& pass) const {
    return {pass.at<Bf16>(in_->rounded ? in_->value : kept, 0, 0), g_.depth, all_rows(pass)};
  }
  RoundedRows rounded_gradients(const Pass& pass) const {
    return {pass.at<Bf16>(kept, 0, 0) + (in_->rounded ? 0 : kept_rows() * g_.depth), g_.columns,
            all_rows(pass)};
  }
  // Panel by panel of columns.
  Bf16* paired_gradients(const Pass& pass) const {
    return rounded_gradients(pass).numbers + kept_rows() * g_.columns;
  }
  std::int64_t kept_rows() const { return round_up(most_rows_, unit); }  // whole tiles

  void forward_rounded(const Pass& pass, int part, int parts) const {
    const RoundedRows from = rounded_inputs(pass);
    const auto product = [&](std::int64_t n, std::int64_t row, std::int64_t rows) {
      Product<Bf16> m = from.product(pass, row, rows);
      rounded_weights(pass).multiply_panel(pass, n, m);
      m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
      m.relu = g_.relu;
      m.c = pass.at(out_->value, 0, 0) + row * g_.columns + n, m.c_row_stride = g_.columns;
      return m;
    };
    if (g_.tiles)
      return each_tile_of_16(all_rows(pass), g_.columns, Split::panels, part, parts,
                             [&](std::int64_t n, std::int64_t row, std::int64_t rows) {
                               pass.bf16->multiply(product(n, row, rows));
                             });
    each_block(all_rows(pass), g_.columns, g_.depth, rows_at_once(false, parts), part, parts,
               [&](std::int64_t n, std::int64_t panels, std::int64_t row, std::int64_t rows,
                   const Range& depth) {
                 Product<Bf16> m = product(n, row, rows);
                 m.a += depth.begin, m.b += depth.begin * m.width;
                 m.run = depth.end - depth.begin;
                 m.adds = depth.begin > 0, m.relu = g_.relu && depth.end == g_.depth;
                 multiply(pass, m, panels, {g_.depth * panel, panel});
               });
  }

  void mask(const Pass& pass, const Range& rows) const {
    pass.kernels->pass_positive(pass.at(out_->value, 0, 0) + rows.begin * g_.columns,
                                (rows.end - rows.begin) * g_.columns,
                                gradients(pass) + rows.begin * g_.columns);
  }
  // Some columns, whole tiles of them: everything that is made of the gradients, which are read
  // once.
  void take_gradients(const Pass& pass, int part, int parts) const {
    const Range tiles = share(pieces(g_.columns, 2 * unit), part, parts);
    const RoundedRows rounded = rounded_gradients(pass);
    OutputGradients g{};
    g.gradients = gradients(pass), g.values = g_.relu ? pass.at(out_->value, 0, 0) : nullptr;
    g.rows = all_rows(pass), g.columns = g_.columns;
    g.begin = tiles.begin * 2 * unit, g.end = std::min(tiles.end * 2 * unit, g_.columns);
    if (g_.bias) g.sums = pass.gradients + *g_.bias;
    if (g_.bias && !pass.adds) std::fill(g.sums + g.begin, g.sums + g.end, 0.f);
    if (wants_input_gradient) g.rounded = rounded.numbers;
    g.row_tiles = rounded.tile_by_tile(pass), g.pairs = paired_gradients(pass);
    pass.bf16->round_gradients(g);
  }
  // A few rows at a time, which stay in cache.
  void mask_and_round(const Pass& pass, const Range& rows) const {
    for (std::int64_t begin = rows.begin; begin < rows.end; begin += unit) {
      const Range some{begin, std::min(begin + unit, rows.end)};
      if (g_.relu) mask(pass, some);
      if (wants_input_gradient) rounded_gradients(pass).round(pass, gradients(pass), some);
    }
  }

  void make_input_gradient(const Pass& pass, int part, int parts) const {
    if (turns_tiles_)
      return turn_tiles(pass, share(g_.depth / unit, part, parts), pass.at(working, 0, part));
    if (!transposes_) {
      const Range units = share(g_.depth / unit, part, parts);
      return pass.kernels->dot({gradients(pass), g_.columns, all_rows(pass),
                                pass.weights + g_.weights, g_.depth, g_.columns, units.begin * unit,
                                (units.end - units.begin) * unit, pass.at(in_->gradient, 0, 0),
                                g_.depth});
    }
    // A thread's own samples, whose gradients it needs itself later, unless reading all weights
    // costs more than that saves.
    const Split split =
        !by_panels_ && g_.columns * parts <= all_rows(pass) ? Split::rows : Split::panels;
    std::int64_t last = -1;  // the panel that is transposed
    // Then every part transposes all panels, if they are, one after another.
    const bool own = by_panels_ && has_own_rows(pass, parts);
    const Range mine = own ? share(all_rows(pass), part, parts) : Range{0, all_rows(pass)};
    if (bf16_) {
      auto* transposed = pass.at<Bf16>(working, 0, part);
      const RoundedRows from = rounded_gradients(pass);
      const RoundedWeights weights = rounded_weights(pass);
      const std::int64_t group = rounded_panels();
      return from.each_tile_of(
          pass, pieces(g_.depth, group * panel) * panel, rounded_row_chunk, split, part, parts,
          [&](std::int64_t at, std::int64_t row, std::int64_t rows) {
            const std::int64_t k = at * group, end = std::min(k + group * panel, g_.depth);
            if (by_panels_ && k != last)
              for (std::int64_t i = last = k; i < end; i += panel)
                weights.turn_panel(pass, i, transposed + (i - k) * g_.columns);
            const std::int64_t panels = k + 2 * panel <= end ? 2 : 1;
            for (std::int64_t i = k; i < end; i += panels * panel) {
              Product<Bf16> m = from.product(pass, row, rows);
              m.b = by_panels_ ? transposed + (i - k) * g_.columns : weights.transposed_panel_at(i);
              m.width = std::min(panel, g_.depth - i);
              m.b_tiles = by_panels_ && weights.turns_into_tiles(pass);
              m.c = pass.at(in_->gradient, 0, 0) + row * g_.depth + i, m.c_row_stride = g_.depth;
              multiply(pass, m, panels, {g_.columns * panel, panel});
            }
          });
    }
    float* transposed = pass.at(working, 0, part);
    const std::int64_t group = by_panels_ ? transposed_panels() : split == Split::rows ? 2 : 1;
    each_tile(mine.end - mine.begin, pieces(g_.depth, group * panel) * panel, row_chunk, split,
              own ? 0 : part, own ? 1 : parts,
              [&](std::int64_t at, std::int64_t first, std::int64_t rows) {
                const std::int64_t begin = at * group,
                                   end = std::min(begin + group * panel, g_.depth);
                if (by_panels_ && begin != last)
                  for (std::int64_t i = last = begin; i < end; i += unit)
                    transpose_rows(pass, pass.weights + g_.weights, g_.depth, g_.columns, i,
                                   transposed + (i - begin) / panel * panel * g_.columns);
                for (std::int64_t k = begin, panels; k < end; k += panels * panel) {
                  panels = k + 2 * panel <= end ? 2 : 1;
                  multiply_gradients(pass, {k, mine.begin + first, rows}, panels,
                                     by_panels_ ? transposed + (k - begin) * g_.columns
                                                : transposed_panel_at(pass, k));
                }
              });
  }

  // Few rows, from tiles of the weights that are transposed in the L1 cache, each read once.
  void turn_tiles(const Pass& pass, const Range& units, float* turned) const {
    const std::int64_t end = units.end * unit;
    for (std::int64_t k = units.begin * unit, panels; k < end; k += panels * panel) {
      panels = all_rows(pass) >= few_rows && k + 2 * panel <= end ? 2 : 1;
      const std::int64_t inputs = std::min(panels * panel, end - k);
      const std::int64_t wide = std::min(panel, inputs);
      for (std::int64_t n = 0; n < g_.columns; n += panel) {
        const float* tile = pass.weights + offset(n, k);
        for (std::int64_t i = 0; i < inputs; i += unit) {
          // While a unit is turned, the next tile's comes.
          const float* next = tile + g_.depth * panel + i * width(n);
          if (n + panel < g_.columns)
            for (std::int64_t f = 0; f < unit * width(n); f += unit)
              __builtin_prefetch(next + f, 0, 2);
          pass.kernels->transpose(tile + i * width(n), width(n), unit, width(n),
                                  turned + i / panel * panel * panel + i % panel, wide);
        }
        Multiply m{};
        m.a = gradients(pass) + n, m.row_stride = g_.columns, m.rows = all_rows(pass);
        m.segments = 1, m.run = width(n);
        m.b = turned, m.width = wide, m.adds = n > 0;
        m.c = pass.at(in_->gradient, 0, 0) + k, m.c_row_stride = g_.depth, m.c_unit_stride = unit;
        multiply(pass, m, panels, {panel * panel, panel});
      }
    }
  }

  // A tile of the inputs, or two side by side, from transposed weights.
  void multiply_gradients(const Pass& pass, const Tile& tile, std::int64_t panels,
                          const float* weights) const {
    Multiply m{};
    m.a = gradients(pass) + tile.row * g_.columns, m.row_stride = g_.columns, m.rows = tile.rows;
    // The gradients of the padding are zero; but only products of whole units skip zeros.
    const bool has_little_padding = 32 * (g_.columns - g_.outputs) <= g_.columns;
    m.segments = 1, m.run = has_little_padding ? g_.columns : g_.outputs;
    m.b = weights, m.width = std::min(panel, g_.depth - tile.column);
    m.c = pass.at(in_->gradient, 0, 0) + tile.row * g_.depth + tile.column;
    m.c_row_stride = g_.depth;
    m.c_unit_stride = unit;
    multiply(pass, m, panels, {g_.columns * panel, panel});
  }

  // The operands that are packed, carried between the chunks of a thread.
  struct Packed {
    Packed(float* memory, std::int64_t columns) : outer(memory, columns) {}
    PackedOuter outer;
    std::int64_t rounded = -1;  // in bf16: of the chunk that begins at this row or column
    bool configured = false;
    std::array<Ahead, 3> ahead;
  };

  // Where a chunk's gradient goes.
  struct Panels {
    float* first;
    std::int64_t stride;
  };

  void make_weights(const Pass& pass, int thread, const Chunk& chunk, Packed& packed,
                    const Panels& to, bool adds) const {
    const std::int64_t all = all_rows(pass);
    if (bf16_) return make_rounded_weights(pass, thread, chunk, packed, to, adds);
    Outer o{};
    o.a = inputs(pass) + chunk.row, o.row_stride = g_.depth, o.rows = all;
    o.depth = chunk.depth;
    o.g = gradients(pass) + chunk.column, o.g_row_stride = g_.columns;
    o.g_unit_stride = unit;
    o.width = width(chunk.column);
    o.d = to.first, o.accumulate = adds;
    if (narrow_)
      return FewColumns(*pass.kernels, pass.at(working, 0, thread)).multiply(o, g_.outputs);
    const SecondPanel second{panel, to.stride};
    const bool two = chunk.panels == 2;
    if (packs_ && all >= 2 * packed_rows)
      packed.outer.multiply(*pass.kernels, o, chunk.column, two ? &second : nullptr);
    else
      two ? pass.kernels->outer_two(o, second) : pass.kernels->outer(o);
  }

  void make_rounded_weights(const Pass& pass, int thread, const Chunk& chunk, Packed& of_thread,
                            const Panels& to, bool adds) const {
    std::int64_t& packed = of_thread.rounded;
    const std::int64_t all = all_rows(pass), even = round_up(all, 2);
    auto* memory = pass.at<Bf16>(working, 0, thread);
    Bf16* packed_inputs = memory + (pairs_gradients_ ? 0 : even * panel);
    if (!pairs_gradients_ && packed != chunk.column) {
      pair_gradients(pass, chunk.column, memory);
      packed = chunk.column;
    } else if (pairs_gradients_ && packed != chunk.row) {
      if (turns_rounded_)
        pass.bf16->turn_row_tiles(rounded_inputs(pass).numbers, all, g_.depth, chunk.row,
                                  chunk.depth, packed_inputs);
      else if (pass.bf16->tiles)
        pass.bf16->turn_rows(inputs(pass) + chunk.row, g_.depth, all, chunk.depth, packed_inputs);
      else
        pass.bf16->pair_rows(inputs(pass) + chunk.row, g_.depth, all, chunk.depth, packed_inputs,
                             2 * chunk.depth);
      packed = chunk.row;
    }
    OuterProduct<Bf16> o{};
    o.row_stride = 2 * chunk.depth, o.depth = chunk.depth;
    o.g_row_stride = 2 * panel, o.g_unit_stride = 2 * unit;
    o.width = std::min(panel, g_.columns - chunk.column);
    o.d = to.first;
    const Bf16* of_panel = pairs_gradients_ ? paired_gradients(pass) + chunk.column * even : memory;
    if (pairs_gradients_ && pass.bf16->tiles) {  // turned once for all panels
      o.a = packed_inputs, o.rows = even / 2, o.turned = true;
      o.g = of_panel, o.accumulate = adds;
      o.configured = std::exchange(of_thread.configured, true);
      std::ranges::copy(of_thread.ahead, o.ahead);
      return pass.bf16->outer(o);
    }
    for (std::int64_t first = 0; first < all; first += packed_rows) {
      const std::int64_t rows = std::min(packed_rows, all - first);
      o.a = packed_inputs + (pairs_gradients_ ? first * chunk.depth : 0);
      if (!pairs_gradients_)
        pass.bf16->pair_rows(inputs(pass) + chunk.row + first * g_.depth, g_.depth, rows,
                             chunk.depth, packed_inputs, o.row_stride);
      o.rows = pieces(rows, 2);
      o.g = of_panel + first * panel, o.accumulate = adds || first > 0;
      if (chunk.panels == 2)
        pass.bf16->outer_two(o, {panel * even, to.stride});
      else
        pass.bf16->outer(o);
    }
  }

  // Of a panel of columns, all rows.
  void pair_gradients(const Pass& pass, std::int64_t column, Bf16* to) const {
    pass.bf16->pair_rows(gradients(pass) + column, g_.columns, all_rows(pass),
                         std::min(panel, g_.columns - column), to, 2 * panel);
  }

  void make_bias(const Pass& pass, int part, int parts) const {
    if (!g_.bias) return;
    const Range units = share(g_.columns / unit, part, parts);
    const std::int64_t begin = units.begin * unit, count = (units.end - units.begin) * unit;
    float* bias = pass.gradients + *g_.bias + begin;
    if (!pass.adds) std::fill_n(bias, count, 0.f);
    for (std::int64_t r = 0; r < all_rows(pass); ++r)
      pass.kernels->add(gradients(pass) + r * g_.columns + begin, count, bias);
  }

  DenseGeometry g_;
  std::int64_t most_rows_;
  DepthSplit split_;
  bool splits_, bf16_, turns_tiles_, transposes_, by_panels_, packs_, narrow_, pairs_gradients_,
      turns_rounded_;
};

}  // namespace

bool reads_rounded_rows(const DenseGeometry& geometry, std::int64_t micro_batch) {
  return geometry.rows == 1 && turns_rounded_inputs(geometry, micro_batch);
}

std::unique_ptr<Op> make_dense(std::string name, const DenseGeometry& geometry,
                               std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<Dense>(std::move(name), geometry, micro_batch, in, out);
}

}  // namespace sweetspot::engine::cpu
