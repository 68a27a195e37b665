#include "telemetry/recorder.h"

namespace sweetspot::telemetry {
namespace {

// A counter with an update interval is accurate only over many intervals; over fewer, power
// readings are better.
constexpr double intervals_for_a_counter = 20;

// A trial of hours keeps this many: then half of them are dropped, and later ones are half as
// frequent.
constexpr std::size_t most_readings = 4096;

}  // namespace

Recorder::Recorder(std::unique_ptr<Meter> meter, Machine& machine, double trial_started)
    : meter_(std::move(meter)),
      machine_(machine),
      trial_started_(trial_started),
      interval_(machine.reading_interval_seconds) {
  read();
  if (interval_ > 0) thread_ = std::thread([this] { run(); });
}

// With the mutex held, or before the thread exists.
void Recorder::read() {
  trial::Reading reading = meter_->read();
  reading.at_seconds = machine_.now() - trial_started_;
  trace_.push_back(reading);
}

void Recorder::run() {
  std::unique_lock lock(mutex_);
  const auto interval = [this] { return std::chrono::duration<double>(interval_); };
  while (!ended_.wait_for(lock, interval(), [this] { return end_; })) {
    read();
    if (trace_.size() >= most_readings) thin_out();
  }
}

void Recorder::thin_out() {
  for (std::size_t i = 0; 2 * i < trace_.size(); ++i) trace_[i] = trace_[2 * i];
  trace_.resize((trace_.size() + 1) / 2);
  interval_ *= 2;
}

void Recorder::begin_steps() {
  const std::scoped_lock lock(mutex_);
  counter_ = meter_->energy_joules();
  meter_->core_clock_mhz();  // earlier ones do not count
  read();
  began_ = trace_.back().at_seconds;
}

void Recorder::end_steps() {
  const std::scoped_lock lock(mutex_);
  read();
  const double ended = over_ = trace_.back().at_seconds;
  clock_ = meter_->core_clock_mhz();
  const std::optional<double> counter = meter_->energy_joules();
  const bool by_counter =
      counter && counter_ && *counter >= *counter_ &&
      ended - began_ >= intervals_for_a_counter * meter_->energy_interval_seconds();
  energy_ = by_counter ? *counter - *counter_ : integrated_power(began_, ended);
  gpu_contention_ = meter_->gpu_contention();
}

void Recorder::tell(trial::GpuUse& use) const {
  double sum = 0, count = 0;
  for (const trial::Reading& reading : trace_)
    if (reading.utilisation_share && reading.at_seconds >= began_ && reading.at_seconds <= over_)
      sum += *reading.utilisation_share, ++count;
  if (count > 0) use.utilisation_share = sum / count;
  use.energy_joules = energy_;
  if (energy_ && over_ > began_) use.power_watts = *energy_ / (over_ - began_);
  use.core_clock_mhz = clock_;
}

std::optional<double> Recorder::integrated_power(double from, double to) const {
  std::optional<double> joules;
  const trial::Reading* before = nullptr;
  for (const trial::Reading& reading : trace_) {
    if (!reading.power_watts || reading.at_seconds < from || reading.at_seconds > to) continue;
    if (before)
      joules = joules.value_or(0) + (*before->power_watts + *reading.power_watts) / 2 *
                                        (reading.at_seconds - before->at_seconds);
    before = &reading;
  }
  return joules;
}

void Recorder::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (end_) return;
    end_ = true;
    read();
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Recorder::tell(trial::Trial& trial) {
  stop();
  trial.trace = std::move(trace_);
  trial.energy_joules = energy_;
}

std::unique_ptr<Recorder> start_recorder(Machine& machine, const std::string& device,
                                         double trial_started) {
  auto meter = machine.meter(device);
  if (!meter) return nullptr;
  return std::make_unique<Recorder>(std::move(meter), machine, trial_started);
}

}  // namespace sweetspot::telemetry
