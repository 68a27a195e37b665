#include "engine/gradient_norms.h"

#include <algorithm>

namespace sweetspot::engine {

double Trainer::squared_gradient_norm() const {
  double sum = 0;
  for (const Variable& gradient : gradients())
    for (const float value : gradient.values) sum += static_cast<double>(value) * value;
  return sum;
}

namespace {

constexpr double share_of_time = 0.01;  // and at most as much for the big norms
// What a step spends on its weights, in samples. A dense weight takes about 24 bytes of traffic per
// step and 6 operations per sample, and a machine does about 12 operations in the time of a byte;
// convolutions use a weight more often.
constexpr double samples_of_weights = 64;

BatchView part_of(const model::Network& network, const BatchView& batch, std::int64_t first,
                  std::int64_t count) {
  return {count, batch.inputs + first * network.input.size(),
          batch.labels ? batch.labels + first : nullptr,
          batch.targets ? batch.targets + first * network.output().size() : nullptr};
}

// Restores the running statistics of a network that has any; a GPU's trainer takes long to read
// them.
class KeptStatistics {
 public:
  KeptStatistics(Trainer& trainer, const model::Network& network) : trainer_(trainer) {
    if (std::ranges::all_of(model::parameters(network), &model::Parameter::trainable)) return;
    kept_ = trainer.variables();
    std::erase_if(kept_, [](const Variable& v) { return v.parameter.trainable; });
  }
  void restore() const {
    if (!kept_.empty()) trainer_.assign(kept_);
  }

 private:
  Trainer& trainer_;
  std::vector<Variable> kept_;
};

}  // namespace

std::int64_t small_part(std::int64_t batch, std::int64_t micro_batch) {
  // The gradient's own norm is hard to distinguish from its noise, so most samples go into the big
  // batch.
  constexpr std::int64_t most = 64;
  return std::clamp<std::int64_t>(batch / 8, 1, std::min(most, micro_batch));
}

std::int64_t steps_between_norms(std::int64_t batch, std::int64_t small) {
  const double cost = (static_cast<double>(small) + samples_of_weights) /
                      (static_cast<double>(batch) + samples_of_weights);
  return static_cast<std::int64_t>(cost / share_of_time) + 1;
}

void NormWindow::begin(std::int64_t batch, std::int64_t micro_batch) {
  batch_ = batch, small_ = small_part(batch, micro_batch);
  length_ = steps_between_norms(batch, small_);
  steps_ = 0, big_sum_ = 0;
}

std::optional<std::int64_t> NormWindow::wants(std::int64_t batch, std::int64_t micro_batch) {
  const bool changed = batch != batch_, stays = batch == last_batch_ || batch_ == 0;
  last_batch_ = batch;
  if (batch < 2 || (changed && !stays)) return std::nullopt;
  if (changed || steps_ == length_) begin(batch, micro_batch);
  return steps_ == length_ / 2 ? small_ : 0;
}

std::optional<convergence::GradientNorms> NormWindow::add(std::optional<double> small_squared,
                                                          double big_squared) {
  if (small_squared) small_squared_ = *small_squared;
  big_sum_ += big_squared;
  if (++steps_ < length_) return std::nullopt;
  return convergence::GradientNorms{static_cast<double>(small_), small_squared_,
                                    static_cast<double>(batch_),
                                    big_sum_ / static_cast<double>(length_)};
}

double squared_gradient_norm(Trainer& trainer, const model::Network& network,
                             const BatchView& batch, std::int64_t micro_batch) {
  return squared_gradient_norm(trainer, network,
                               [&] { trainer.accumulate(batch, micro_batch); });
}

double squared_gradient_norm(Trainer& trainer, const model::Network& network,
                             const std::function<void()>& accumulate) {
  const KeptStatistics statistics(trainer, network);
  accumulate();
  const double squared = trainer.squared_gradient_norm();
  statistics.restore();
  return squared;
}

convergence::GradientNorms gradient_norms(Trainer& trainer, const model::Network& network,
                                          const BatchView& batch, std::int64_t micro_batch) {
  constexpr std::int64_t most_parts = 4;
  const KeptStatistics statistics(trainer, network);
  const std::int64_t small = small_part(batch.count, micro_batch);
  const std::int64_t parts = std::min(batch.count / small, most_parts);
  convergence::GradientNorms norms{static_cast<double>(small), 0, static_cast<double>(batch.count),
                                   0};
  for (std::int64_t i = 0; i < parts; ++i) {
    trainer.accumulate(part_of(network, batch, i * small, small), micro_batch);
    norms.small_squared += trainer.squared_gradient_norm() / static_cast<double>(parts);
  }
  trainer.accumulate(batch, micro_batch);
  norms.big_squared = trainer.squared_gradient_norm();
  statistics.restore();
  return norms;
}

}  // namespace sweetspot::engine
