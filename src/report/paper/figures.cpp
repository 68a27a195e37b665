#include "report/paper/figures.h"

#include "report/paper/charts.h"

namespace sweetspot::report::paper {
namespace {

// The quotations are from D. Campbell, "Impact of Batch Size on Performance of TensorFlow Based
// Convolutional Neural Networks". Its figures are pictures without tables: what the text says of
// them is all that can be quoted.
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
