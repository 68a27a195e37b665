#include "workload/native/end_point.h"

#include <algorithm>

#include "convergence/largest_eigenvalue.h"
#include "workload/native/feed.h"

namespace sweetspot::workload::native {
namespace {

// The weights as one vector, and back.
class FlatWeights {
 public:
  explicit FlatWeights(std::vector<engine::Variable> variables) : variables_(std::move(variables)) {
    std::erase_if(variables_, [](const auto& v) { return !v.parameter.trainable; });
  }

  std::vector<float> values() const { return joined(variables_); }
  const std::vector<engine::Variable>& at(std::span<const float> values) {
    for (engine::Variable& variable : variables_) {
      std::copy_n(values.begin(), variable.values.size(), variable.values.begin());
      values = values.subspan(variable.values.size());
    }
    return variables_;
  }

  static std::vector<float> joined(const std::vector<engine::Variable>& variables) {
    std::vector<float> all;
    for (const engine::Variable& variable : variables)
      all.insert(all.end(), variable.values.begin(), variable.values.end());
    return all;
  }

 private:
  std::vector<engine::Variable> variables_;
};

}  // namespace

data::PipelineOptions end_point_pipeline(const data::Samples& train) {
  constexpr std::size_t enough = 2048;
  data::PipelineOptions pipeline;
  pipeline.batch = static_cast<std::int64_t>(std::min(enough, train.count));
  pipeline.workers = 0;
  pipeline.prefetch = 1;
  return pipeline;
}

std::optional<EndPoint> end_point(engine::Trainer& trainer, data::Pipeline& batches,
                                  const std::atomic<int>& stop) {
  data::Batch batch;
  batches.start_epoch(0);
  if (!batches.next(batch)) return std::nullopt;
  EndPoint found;
  found.samples = batch.count;
  FlatWeights weights(trainer.variables());
  const std::vector<float> here = weights.values();
  const auto gradient = [&](std::span<const float> at) -> std::optional<std::vector<float>> {
    if (stop != 0) return std::nullopt;
    trainer.assign(weights.at(at));
    trainer.evaluate_gradients(view(batch));
    return FlatWeights::joined(trainer.gradients());
  };
  const auto curvature = convergence::largest_eigenvalue(gradient, here);
  trainer.assign(weights.at(here));
  if (!curvature) return std::nullopt;
  found.train_loss = trainer.evaluate(view(batch)).loss;
  found.sharpness = curvature->eigenvalue, found.converged = curvature->converged;
  return found;
}

}  // namespace sweetspot::workload::native
