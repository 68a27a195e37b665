#include "data/loader.h"

#include <algorithm>

#include "data/image.h"
#include "data/order.h"

namespace sweetspot::data {

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
