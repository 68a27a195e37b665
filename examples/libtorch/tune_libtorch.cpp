// Finds the batch size for a CNN on images like those of MNIST, trained with LibTorch.
#include <sweetspot/tune.h>
#include <torch/torch.h>

#include <chrono>
#include <iostream>
#include <memory>

namespace {

constexpr int images = 4096;

// 28×28 grey images to ten classes.
struct Net : torch::nn::Module {
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear dense{nullptr};

  Net() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3)));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3)));
    dense = register_module("dense", torch::nn::Linear(32 * 5 * 5, 10));
  }

  torch::Tensor forward(torch::Tensor x) {              // (B, 1, 28, 28)
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);    // (B, 16, 13, 13)
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);    // (B, 32, 5, 5)
    return torch::log_softmax(dense(x.flatten(1)), 1);  // (B, 10)
  }
};

// The model with its data: what a trial makes and lets go of.
class Training {
 public:
  explicit Training(torch::Device device)
      : images_(torch::randn({images, 1, 28, 28}, device)),
        labels_(torch::randint(10, {images}, torch::device(device).dtype(torch::kLong))),
        optimizer_((net_.to(device), net_.parameters()), torch::optim::SGDOptions(0.01)) {}

  void step(int batch) {
    if (next_ + batch > images) next_ = 0;
    const auto x = images_.narrow(0, next_, batch);
    const auto y = labels_.narrow(0, next_, batch);
    next_ += batch;
    optimizer_.zero_grad();
    torch::nll_loss(net_.forward(x), y).backward();
    optimizer_.step();
  }

 private:
  Net net_;
  torch::Tensor images_, labels_;
  torch::optim::SGD optimizer_;
  std::int64_t next_ = 0;
};

}  // namespace

int main() {
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  std::unique_ptr<Training> training;

  sweetspot::Hooks hooks;
  hooks.prepare = [&](int) { training = std::make_unique<Training>(device); };
  hooks.run = [&](int batch, int steps) {
    for (int i = 0; i < steps; ++i) training->step(batch);
    if (device.is_cuda()) torch::cuda::synchronize();  // a step is only queued until then
  };
  hooks.finish = [&] { training.reset(); };

  sweetspot::Options options;
  options.name = "libtorch cnn";
  options.max = images;
  options.budget = std::chrono::minutes(1);
  options.progress = [](const sweetspot::Progress& progress) {
    if (progress.trial) std::cerr << "tried batch " << progress.batch << '\n';
  };
  const sweetspot::Result result = sweetspot::tune(options, hooks);
  std::cout << result.table << '\n' << (result.batch ? result.sentence : result.message) << '\n';
  for (const std::string& reason : result.reasons) std::cout << "- " << reason << '\n';
  return result.batch ? 0 : 1;
}
