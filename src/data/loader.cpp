#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/buffer.h"
#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "data/pipeline.h"

namespace sweetspot::data {

void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch) {
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  const core::Random random(seed, core::Purpose::shuffle, epoch);
  for (std::size_t left = order.size(); left > 1; --left)  // Fisher-Yates
    std::swap(order[left - 1], order[random.below(left - 1, left)]);
}

namespace {

// From -reach to reach, where reach leaves at least the middle of the image in view.
std::int64_t shift_within(std::uint32_t word, std::int64_t size) {
  const std::int64_t reach = std::min<std::int64_t>(2, (size - 1) / 2);
  const auto choices = static_cast<std::uint64_t>(2 * reach + 1);
  return static_cast<std::int64_t>(word * choices >> 32) - reach;
}

void convert(const std::uint8_t* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * (1.0f / 255);
}
void convert(const float* from, std::int64_t count, float* to) { std::copy_n(from, count, to); }

template <class Value>
void place(const Samples& shape, Shift by, const Value* from, float* to) {
  if (by.down == 0 && by.right == 0) return convert(from, shape.sample_size(), to);
  const std::int64_t row = shape.width * shape.channels, offset = by.right * shape.channels;
  const std::int64_t first = std::max<std::int64_t>(0, offset), last = std::min(row, row + offset);
  const std::int64_t top = std::max<std::int64_t>(0, by.down);
  const std::int64_t bottom = std::min(shape.height, shape.height + by.down);
  std::fill_n(to, shape.sample_size(), 0.0f);
  for (std::int64_t y = top; y < bottom; ++y)
    convert(from + (y - by.down) * row + first - offset, last - first, to + y * row + first);
}

}  // namespace

Shift random_shift(const Samples& shape, std::uint64_t seed, std::uint32_t epoch,
                   std::uint64_t sample) {
  const auto words = core::Random(seed, core::Purpose::augment, epoch).words(sample);
  return {shift_within(words[0], shape.height), shift_within(words[1], shape.width)};
}

void place_image(const Samples& shape, Shift by, const std::uint8_t* from, float* to) {
  place(shape, by, from, to);
}
void place_image(const Samples& shape, Shift by, const float* from, float* to) {
  place(shape, by, from, to);
}

namespace {

// Sizes from the command line may be absurd: sizes beyond any memory must not wrap around to
// something small. Capped far enough below 2^64 for the few sums of this file.
constexpr core::Bytes beyond_any_memory = core::Bytes{1} << 60;

core::Bytes times(core::Bytes a, core::Bytes b) {
  core::Bytes product = 0;
  return __builtin_mul_overflow(a, b, &product) ? beyond_any_memory
                                                : std::min(product, beyond_any_memory);
}

core::Bytes whole_lines(core::Bytes bytes) {
  constexpr core::Bytes line = core::Buffer::alignment;
  return (bytes + line - 1) / line * line;
}

}  // namespace

Layout lay_out(const Samples& samples, const PipelineOptions& options) {
  const auto batch = static_cast<core::Bytes>(options.most_samples());
  const auto sample_bytes = times(static_cast<core::Bytes>(samples.sample_size()), sizeof(float));
  const core::Bytes answer_bytes =
      samples.target_size > 0 ? static_cast<core::Bytes>(samples.target_size) * sizeof(float)
                              : sizeof(std::int32_t);
  Layout layout;
  // The trainer uses one batch while the others are ready or being filled.
  layout.slots = options.workers == 0 ? 1 : 1 + static_cast<std::size_t>(options.prefetch);
  layout.inputs_bytes = whole_lines(times(batch, sample_bytes));
  layout.answers_bytes = whole_lines(times(batch, answer_bytes));
  if (options.shuffle) layout.order_bytes = samples.count * sizeof(std::uint32_t);
  if (options.cache) {
    layout.cached_values_bytes = times(samples.count, sample_bytes);
    layout.cached_flags_bytes = samples.count;
  }
  return layout;
}

core::Bytes pipeline_bytes(const Samples& samples, const PipelineOptions& options) {
  const Layout layout = lay_out(samples, options);
  return times(layout.slots, layout.slot_bytes()) + layout.order_bytes + layout.cache_bytes();
}

LoadDelay parse_load_delay(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view unit = slash == text.npos ? "batch" : text.substr(slash + 1);
  if (unit != "batch" && unit != "sample")
    throw core::InputError(
        fmt::format("--load-delay '{}' is not understood; write it like 20ms/batch or 50us/sample",
                    core::printable(text)));
  return {core::parse_duration(text.substr(0, slash), "--load-delay"), unit == "sample"};
}

Loader::Loader(const Samples& samples, const PipelineOptions& options)
    : samples_(samples),
      options_(options),
      layout_(lay_out(samples, options)),
      order_(layout_.order_bytes, core::Use::input),
      cache_(layout_.cache_bytes(), core::Use::input),
      batch_(options.batch) {}

void Loader::start_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  if (options_.shuffle) shuffle({order_.as<std::uint32_t>(), samples_.count}, options_.seed, epoch);
}

void Loader::set_batch(std::int64_t batch, std::int64_t first) { batch_ = batch, first_ = first; }

std::int64_t Loader::batches() const {
  const std::int64_t samples = static_cast<std::int64_t>(samples_.count) - first_;
  const std::int64_t all = (options_.drop_last ? samples : samples + batch_ - 1) / batch_;
  const Share& share = options_.share;
  return share.whole_batches ? (all - share.rank + share.ranks - 1) / share.ranks : all;
}

std::int64_t Loader::first_of(std::int64_t batch) const {
  const Share& share = options_.share;
  return first_ + (share.whole_batches ? batch * share.ranks + share.rank : batch) * batch_;
}

Loader::Part Loader::part(std::int64_t batch) const {
  const std::int64_t whole =
      std::min(batch_, static_cast<std::int64_t>(samples_.count) - first_of(batch));
  const Share& share = options_.share;
  if (share.whole_batches) return {0, whole, whole};
  const std::int64_t begin = whole * share.rank / share.ranks;
  return {begin, whole * (share.rank + 1) / share.ranks - begin, whole};
}

std::uint64_t Loader::sample(std::int64_t batch, std::int64_t i) const {
  const auto position = static_cast<std::uint64_t>(first_of(batch) + part(batch).first + i);
  return options_.shuffle ? order_.as<std::uint32_t>()[position] : position;
}

core::Seconds Loader::delay(std::int64_t batch) const {
  if (options_.delay.duration.count() == 0) return core::Seconds(0);
  std::int64_t to_load = count(batch);
  if (options_.cache) {
    const auto* cached = cache_.as<std::uint8_t>(layout_.cached_values_bytes);
    for (std::int64_t i = 0; i < count(batch); ++i) to_load -= cached[sample(batch, i)];
  }
  if (to_load == 0) return core::Seconds(0);
  return options_.delay.per_sample ? options_.delay.duration * to_load : options_.delay.duration;
}

void Loader::load(std::int64_t batch, const BatchMemory& to) {
  const std::int64_t size = samples_.sample_size(), target_size = samples_.target_size;
  for (std::int64_t i = 0; i < count(batch); ++i) {
    const std::uint64_t from = sample(batch, i);
    load_input(from, to.inputs + i * size);
    if (target_size > 0)
      std::copy_n(&samples_.targets[from * static_cast<std::uint64_t>(target_size)], target_size,
                  to.targets + i * target_size);
    else
      to.labels[i] = samples_.labels[from];
  }
}

void Loader::load_input(std::uint64_t sample, float* to) {
  const auto size = static_cast<std::uint64_t>(samples_.sample_size());
  const auto place = [&](Shift by, float* where) {
    if (samples_.bytes.empty())
      place_image(samples_, by, &samples_.floats[sample * size], where);
    else
      place_image(samples_, by, &samples_.bytes[sample * size], where);
  };
  const Shift by =
      options_.augment_shift ? random_shift(samples_, options_.seed, epoch_, sample) : Shift{};
  if (!options_.cache) return place(by, to);
  float* kept = cache_.as<float>() + sample * size;
  std::uint8_t& is_kept = cache_.as<std::uint8_t>(layout_.cached_values_bytes)[sample];
  if (!is_kept) place(Shift{}, kept);
  is_kept = 1;
  place_image(samples_, by, kept, to);
}

}  // namespace sweetspot::data
