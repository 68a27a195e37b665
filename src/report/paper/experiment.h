#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/interval.h"
#include "trial/trial.h"

namespace sweetspot::report::paper {

// One device of this machine and the trials it ran.
struct Device {
  std::string name;      // "cpu", "cuda:0"
  std::string hardware;  // for users: "AMD EPYC 9B14, 2 cores"
  std::string study;     // its number in the store
  std::vector<trial::Trial> trials;

  bool is_gpu() const { return trial::on_gpu(name); }
};

// The paper's experiment as it went here.
struct Experiment {
  std::vector<Device> devices;
  std::vector<std::int64_t> batches;  // requested
  int epochs = 5;
  std::int64_t test_samples = 10'000;
  bool quick = false;
  std::string workload;  // "paper-cnn on mnist"
  std::string training;  // "adam at 0.001, fp32"
  std::string program, started;
  std::string status = "finished", message;  // why it ended early; else empty
  double seconds = 0;                        // of this run
  std::size_t resumed = 0;                   // trials that were known before
  std::string no_gpu;                        // why no GPU took part; else empty
  std::string environment_json;              // an object

  const Device* cpu() const;
  const Device* gpu() const;
};

// One batch on one device: the results of all its successful trials.
struct Point {
  std::int64_t batch = 1;
  double steps_per_epoch = 0;
  std::vector<double> epoch_seconds;          // of every epoch of every trial
  std::vector<double> first_epoch_ratios;     // by trial: all epochs' time over the first one's
  std::vector<std::vector<double>> seconds;   // [epochs − 1]: of so many epochs, by trial
  std::vector<std::vector<double>> accuracy;  // [epochs − 1]: after them, by trial
  std::vector<double> utilisation;            // by trial: the mean of its readings
};

// One device over the batches, ascending.
struct Curve {
  std::vector<Point> points;
  std::int64_t test_samples = 1;
  std::optional<stats::Spread> spread;  // of epochs of one batch

  const Point* at(std::int64_t batch) const;
  bool has_two_batches() const { return points.size() >= 2; }
  const Point& smallest() const { return points.front(); }
  const Point& largest() const { return points.back(); }

  // With 95% intervals: a mean epoch's time; the accuracy after this many epochs, over its seeds
  // or, with one seed, from the number of test images.
  stats::Interval epoch_seconds(const Point& point) const;
  std::optional<stats::Interval> accuracy(const Point& point, int epochs) const;
};
Curve curve(const Device& device, const Experiment& experiment);

// The fixed part of a step's time, in seconds: the line through the step times. nullopt below three
// batches.
std::optional<stats::Interval> fixed_step_seconds(const Curve& curve);

// a − b of two independent estimates.
stats::Interval difference(const stats::Interval& a, const stats::Interval& b);

// The trials on GPUs as if no step had taken less than this.
Experiment with_slowest_steps(Experiment experiment, double least_step_seconds);

}  // namespace sweetspot::report::paper
