#pragma once
#include <memory>
#include <utility>

#include "workload/native/session.h"
#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// What make_workload() makes.
class NativeWorkload : public Workload, public NativeProbes {
 public:
  explicit NativeWorkload(Run run) : run_(std::move(run)) {}

  std::string name() const override;
  std::string device() const override;
  About about() const override;
  std::optional<core::Bytes> predict(const trial::Setting& setting, Extent extent) const override;
  Switching switching() const override { return {.in_place = true}; }
  NativeProbes* probes() override { return this; }
  std::vector<trial::OperationCost> operations(const trial::Setting& setting) override;
  std::optional<trial::GradientNoise> gradient_noise(const trial::Setting& setting,
                                                     std::int64_t largest, core::Seconds time,
                                                     const std::atomic<int>& stop) override;
  std::optional<trial::RateRun> try_rate(const trial::Setting& setting, std::int64_t steps,
                                         const std::atomic<int>& stop) override;
  std::optional<core::Bytes> evaluate(const trial::Setting& setting,
                                      const std::atomic<int>& stop) override;
  std::unique_ptr<Session> open(const trial::Setting& setting) override;

 protected:
  Run run_;
  Sessions sessions_;
};

}  // namespace sweetspot::workload::native
