#include "engine/cuda/gradient_sums.h"

namespace sweetspot::engine::cuda {

GradientSums::GradientSums(const Ranks& ranks, const Parameters& parameters, const Optimizer& optimizer,
                   cudaStream_t steps)
    : ranks_(ranks),
      group_(*ranks.on_gpus),
      parameters_(parameters),
      optimizer_(optimizer),
      steps_(steps),
      sums_(static_cast<cudaStream_t>(group_.stream())) {
  stop_.resize(1);
  *stop_.data() = 0;
}

GradientSums::Part GradientSums::part_of(std::int64_t batch) const {
  const std::int64_t begin = batch * group_.rank() / group_.size();
  return {begin, batch * (group_.rank() + 1) / group_.size() - begin};
}

void GradientSums::note_stop() {
  if (ranks_.stop && *ranks_.stop != 0) *stop_.data() = 1;
}

RankStep GradientSums::step(bool has_samples) const {
  return {parameters_.state(), parameters_.history(), parameters_.rank_record(), stop_.data(),
          has_samples,         optimizer_.beta1,      optimizer_.beta2};
}

void GradientSums::send(const Executor& executor, int bucket, bool has_samples) {
  const std::span<float> gradients = parameters_.gradient_sums();
  std::vector<std::span<float>> values;
  for (const auto& [begin, end] : executor.ranges(bucket))
    values.push_back(
        gradients.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  if (bucket + 1 == executor.buckets()) {
    cuda::check(launch_put_record(step(has_samples), steps_), "a step of ranks");
    values.emplace_back(reinterpret_cast<float*>(parameters_.rank_record()),
                        std::size_t{rank_record_floats});
  }
  sent_.record(steps_);
  sent_.hold(sums_);
  group_.queue_all_reduce(values);
  while (received_.size() <= static_cast<std::size_t>(bucket))
    received_.push_back(std::make_unique<Event>());
  received_[static_cast<std::size_t>(bucket)]->record(sums_);
}

void GradientSums::take_record() const {
  cuda::check(launch_take_record(step(true), steps_), "a step of ranks");
}

bool GradientSums::stops() const { return parameters_.fetch(parameters_.rank_record()).stops > 0; }

}  // namespace sweetspot::engine::cuda
