#pragma once
#include <cstddef>
#include <vector>

// Linear regression by stochastic gradient descent: the least that can be called training.
class Regression {
 public:
  void step(int batch) {
    std::vector<float> gradient(weights_.size());
    for (int i = 0; i < batch; ++i) {
      const float* x = &data_[next_ * weights_.size()];
      next_ = (next_ + 1) % samples;
      float error = -1;  // of a target that is always 1
      for (std::size_t j = 0; j < weights_.size(); ++j) error += weights_[j] * x[j];
      for (std::size_t j = 0; j < weights_.size(); ++j) gradient[j] += error * x[j];
    }
    const float rate = 1e-3f / static_cast<float>(batch);
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= rate * gradient[j];
  }

  static constexpr int samples = 1024, features = 64;

 private:
  std::vector<float> weights_ = std::vector<float>(features, 0.0f);
  std::vector<float> data_ = std::vector<float>(samples * features, 0.5f);
  std::size_t next_ = 0;
};
