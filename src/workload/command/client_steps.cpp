#include "workload/command/client_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace sweetspot::workload::command {

void ClientSteps::hear(const client::Message& message, double now) {
  if (const auto* hello = std::get_if<client::Hello>(&message))
    source_ = trial::StepsFrom::client(hello->client);
  if (const auto* begin = std::get_if<client::Begin>(&message)) {
    last_sign_at_ = now;
    if (accept(begin->at_seconds, now)) mark(begin->at_seconds);
  }
  if (const auto* step = std::get_if<client::StepEnd>(&message)) add(*step, now);
  if (const auto* memory = std::get_if<client::DeviceMemory>(&message)) add(*memory);
  if (const auto* epoch = std::get_if<client::Epoch>(&message)) epoch_batches_ = epoch->batches;
  if (const auto* norms = std::get_if<convergence::GradientNorms>(&message)) noise_.add(*norms);
  if (const auto* failed = std::get_if<client::Failed>(&message)) failed_ = *failed;
}

void ClientSteps::add(const client::StepEnd& step, double now) {
  last_sign_at_ = now;
  updates_ += step.updates;
  if (step.loss) losses_.add(updates_, *step.loss);
  std::optional<std::int64_t> samples = step.samples;
  if (samples && ranks_ > 1 && *samples * ranks_ == batch_ * step.updates) *samples *= ranks_;
  const bool gap = std::exchange(dropped_, std::max(dropped_, step.dropped)) < step.dropped;
  if (!accept(step.at_seconds, now)) return;
  if (samples && *samples % step.updates == 0) stride_.add(*samples / step.updates);
  const std::optional<double> start = gap ? std::nullopt : mark_;
  mark(step.at_seconds);
  // Two steps at the same moment have no measurable duration.
  if (!start || step.at_seconds <= *start) return;

  trial::Step done;
  done.seconds = step.at_seconds - *start;
  done.updates = step.updates;
  done.samples = samples.value_or(step.updates * batch_);
  if (step.data_wait_seconds) {
    const double waited = std::min(*step.data_wait_seconds, done.seconds);
    done.phases[static_cast<std::size_t>(trial::Phase::data_wait)] = waited;
    // What the rest was spent on is unknown.
    done.phases[static_cast<std::size_t>(trial::Phase::overhead)] = done.seconds - waited;
  }
  StepSource::add(done);
}

void ClientSteps::add(const client::DeviceMemory& memory) {
  client::DeviceMemory most = memory;
  if (device_memory_) {
    if (device_memory_->peak >= most.peak) std::swap(most, *device_memory_);
    if (const auto& other = device_memory_->allocated)
      most.allocated = std::max(*other, most.allocated.value_or(0));
    if (const auto& other = device_memory_->capacity)
      most.capacity = std::min(*other, most.capacity.value_or(*other));
  }
  device_memory_ = most;
}

void ClientSteps::begin_setting(std::int64_t batch, double since) {
  ClientSteps next(batch, since, ranks_);
  next.source_ = std::move(source_);
  *this = std::move(next);
}

void ClientSteps::tell(trial::SessionReport& report) const {
  report.step_source = source_;
  report.steps_total = epoch_batches_;
  report.samples_per_step = stride_.of_most_steps();
}

std::optional<core::Interval> ClientSteps::noise_scale() const {
  const auto estimate = noise_.estimate();
  return estimate ? estimate->samples : std::nullopt;
}

// Not before the previous line, and not in the future: a different clock would do either.
bool ClientSteps::accept(double at, double now) {
  constexpr double rounding_seconds = 1e-3;
  if (at >= last_ && at <= now + rounding_seconds) return true;
  ++bad_;
  mark_.reset();
  return false;
}

void ClientSteps::mark(double at) {
  if (!first_mark_) first_mark_ = at;
  last_ = at;
  mark_ = at;
}

}  // namespace sweetspot::workload::command
