#include "report/paper/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/charts/svg.h"
#include "report/epochs.h"
#include "stats/moments.h"

namespace sweetspot::report::paper {
namespace {

SvgAxis batch_axis(const Curve& curve) {
  SvgAxis axis;
  axis.label = "batch (samples per weight update)";
  for (const Point& point : curve.points) axis.ticks.push_back(static_cast<double>(point.batch));
  return axis;
}

std::size_t most_epochs(const Curve& curve) {
  std::size_t most = 0;
  for (const Point& point : curve.points) most = std::max(most, point.seconds.size());
  return most;
}

// The mean over trials, and its interval if there are several.
using Mean = std::optional<stats::Interval> (*)(std::span<const double>);
SvgPoint mark(std::int64_t batch, const std::vector<double>& values, Mean mean, double unit) {
  SvgPoint point{static_cast<double>(batch), unit * stats::Moments(values).mean()};
  if (const auto interval = mean(values))
    point.low = unit * interval->low, point.high = unit * interval->high;
  return point;
}

using Values = std::vector<std::vector<double>> Point::*;

std::vector<SvgSeries> by_epochs(const Curve& curve, Values values, Mean mean, double unit) {
  std::vector<SvgSeries> series;
  for (std::size_t i = 0; i < most_epochs(curve); ++i) {
    SvgSeries line;
    line.name = fmt::format("{} epoch{}", i + 1, i == 0 ? "" : "s");
    for (const Point& point : curve.points)
      if (i < (point.*values).size() && !(point.*values)[i].empty())
        line.points.push_back(mark(point.batch, (point.*values)[i], mean, unit));
    series.push_back(std::move(line));
  }
  return series;
}

std::string percent_words(double value) { return fmt::format("{:.4g}%", value); }

double lowest(const std::vector<SvgSeries>& series) {
  double least = 100;
  for (const SvgSeries& line : series)
    for (const SvgPoint& point : line.points) least = std::min(least, point.low.value_or(point.y));
  return least;
}

}  // namespace

std::string time_chart(const Curve& curve, const std::string& device, const std::string& id) {
  SvgChart chart;
  chart.id = id;
  chart.title = "Training time on the " + device;
  chart.description = fmt::format(
      "Seconds of training over the batch, a line for each number of epochs, on the {} "
      "of this machine.",
      device);
  chart.x = batch_axis(curve);
  chart.y.label = "training time in seconds";
  chart.series = by_epochs(curve, &Point::seconds, mean_seconds, 1);
  return svg(chart);
}

std::string accuracy_chart(const Curve& curve, const std::string& device, const std::string& id) {
  SvgChart chart;
  chart.id = id;
  chart.title = "Test accuracy on the " + device;
  chart.description = fmt::format(
      "Test accuracy over the batch, a line for each number of epochs, on the {} of this machine.",
      device);
  chart.x = batch_axis(curve);
  chart.y.label = "test accuracy";
  chart.y.words = percent_words;
  chart.series = by_epochs(curve, &Point::accuracy, mean_share, 100);
  chart.y.from = std::max(0.0, lowest(chart.series) - 0.5), chart.y.to = 100;
  return svg(chart);
}

std::string utilisation_chart(const Device& device, const std::string& id) {
  std::map<std::int64_t, const trial::Trial*> by_batch;  // the first of each
  for (const trial::Trial& trial : device.trials)
    if (trial.outcome == trial::Outcome::ok && !trial.trace.empty())
      by_batch.try_emplace(trial.setting.batch, &trial);
  SvgChart chart;
  double start = 0;
  for (const auto& [batch, trial] : by_batch) {
    SvgSeries line;
    line.marks = false;
    line.colour = 1 + static_cast<int>(chart.series.size() % 2);  // distinguishes neighbours
    double end = 0;
    for (const trial::Reading& reading : trial->trace) {
      end = std::max(end, reading.at_seconds);
      if (reading.utilisation_share)
        line.points.push_back({start + reading.at_seconds, 100 * *reading.utilisation_share});
    }
    if (line.points.empty()) continue;
    chart.rules.push_back({start, true, fmt::format("{}", batch)});
    chart.series.push_back(std::move(line));
    start += end;
  }
  if (chart.series.empty()) return "";
  chart.id = id;
  chart.title =
      fmt::format("Utilisation of the {} while it trains", device.is_gpu() ? "GPU" : "CPU");
  chart.description = "The device's utilisation over time, one batch after the other.";
  chart.x.label = "seconds of training; each part is the run at the batch written above it";
  chart.y.label = "utilisation";
  chart.y.words = percent_words;
  chart.y.ticks = {0, 20, 40, 60, 80, 100};
  chart.y.from = 0, chart.y.to = 112;  // space for the batches above a busy device
  chart.x.from = 0, chart.x.to = start;
  return svg(chart);
}

std::string mean_utilisation_chart(const Curve& curve, const std::string& device,
                                   const std::string& id) {
  SvgChart chart;
  SvgSeries line;
  for (const Point& point : curve.points)
    if (!point.utilisation.empty())
      line.points.push_back(mark(point.batch, point.utilisation, mean_share, 100));
  if (line.points.empty()) return "";
  chart.id = id;
  chart.title = fmt::format("Mean utilisation of the {} by batch", device);
  chart.description = "The mean utilisation over each training run, over the batch.";
  chart.x = batch_axis(curve);
  chart.y.label = "utilisation";
  chart.y.words = percent_words;
  chart.y.from = 0, chart.y.to = 100;
  chart.height = 260;
  chart.series = {line};
  return svg(chart);
}

namespace {

// The quotations are from D. Campbell, "Impact of Batch Size on Performance of TensorFlow Based
// Convolutional Neural Networks". Its figures are images without tables: only the text can be
// quoted.
const std::vector<Quote> cpu_time_quotes{
    {"Figure 3 (Ryzen 1800X)",
     "“the training time remains almost the same as the batch size increases. While the training "
     "time shows a small decrease with larger batch sizes, it is much shallower.”"},
    {"Figure 5 (Ryzen 5700X)",
     "“a significant improvement in training time but the same patterns emerge […] increasing the "
     "batch size only provides marginal improvements at relatively small numbers and plateaus "
     "quickly with no performance gain.”"},
    {"Figure 10 (BeoShock, 2 × Xeon Gold 6240)",
     "“both the CPU and GPU tests show no significant improvement with larger batch sizes.”"}};
const std::vector<Quote> cpu_accuracy_quotes{
    {"Figure 4 (Ryzen 1800X)",
     "“the accuracy is somewhat decreased with larger batch sizes, but remains above 90%.”"},
    {"Figure 6 (Ryzen 5700X)",
     "“larger batch sizes reducing accuracy when the number of epochs is small, but rising with "
     "the number of epochs regardless of the batch size until an upper limit is reached.”"}};
const std::vector<Quote> gpu_time_quotes{
    {"Figure 7 (Radeon RX 6800 XT)",
     "“a significant decrease as the batch size increases […] tapering off around 800 items. The "
     "training time also scales linearly with the number of epochs […] it is faster to process 5 "
     "epochs with a batch size of 1000 than it is to process a single epoch with a batch size of "
     "100.”"},
    {"Figure 11 (BeoShock, Tesla V100)",
     "“no significant improvement with larger batch sizes. The GPU run took significantly longer "
     "than its equivalent on the desktop system”, perhaps because the cluster “is a shared "
     "system”."}};
const std::vector<Quote> gpu_accuracy_quotes{
    {"Figure 8 (Radeon RX 6800 XT)",
     "“somewhat decreased with larger batch sizes, but remains above 94% even for one epoch and "
     "quickly improves to near 99% for five epochs.”"}};
const std::vector<Quote> utilisation_quotes{
    {"Figure 9 (Radeon RX 6800 XT)",
     "“the training period shows spikes above 50% as the neural network trains. As the batch size "
     "increases, the utilization also increases while the period of each test decreases.”"}};

Figure utilisation(const Experiment& experiment) {
  Figure figure{"Figure 9: utilisation while training", {}, "", utilisation_quotes};
  const Device* device = experiment.gpu() ? experiment.gpu() : experiment.cpu();
  if (device) {
    const std::string kind = device->is_gpu() ? "GPU" : "CPU";
    for (const std::string& chart :
         {utilisation_chart(*device, "utilisation"),
          mean_utilisation_chart(curve(*device, experiment), kind, "mean-utilisation")})
      if (!chart.empty()) figure.charts.push_back(chart);
  }
  if (figure.charts.empty()) figure.missing = "No readings were taken while the trials ran.";
  return figure;
}

}  // namespace

std::vector<Figure> figures(const Experiment& experiment) {
  std::vector<Figure> list;
  const auto add = [&](const char* title, const Device* device, auto chart, const char* id,
                       const std::vector<Quote>& quotes) {
    Figure figure{title, {}, "", quotes};
    const Curve line = device ? curve(*device, experiment) : Curve{};
    if (!line.points.empty())
      figure.charts.push_back(chart(line, device->is_gpu() ? "GPU" : "CPU", id));
    else if (device)
      figure.missing = "No batch could be trained.";
    else
      figure.missing = experiment.no_gpu.empty() ? "This device took no part."
                                                 : "Not drawn: " + experiment.no_gpu + ".";
    list.push_back(std::move(figure));
  };
  add("Figures 3, 5 and 10: training time on the CPU", experiment.cpu(), time_chart, "cpu-time",
      cpu_time_quotes);
  add("Figures 4 and 6: accuracy on the CPU", experiment.cpu(), accuracy_chart, "cpu-accuracy",
      cpu_accuracy_quotes);
  add("Figures 7 and 11: training time on the GPU", experiment.gpu(), time_chart, "gpu-time",
      gpu_time_quotes);
  add("Figure 8: accuracy on the GPU", experiment.gpu(), accuracy_chart, "gpu-accuracy",
      gpu_accuracy_quotes);
  list.push_back(utilisation(experiment));
  return list;
}

}  // namespace sweetspot::report::paper
