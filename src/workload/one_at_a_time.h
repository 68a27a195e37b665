#pragma once
#include "workload/workload.h"

namespace sweetspot::workload {

// A workload whose settings each run on their own machine: none are interleaved. If that is not
// this machine, their memory cannot be predicted here.
class OneAtATime : public Workload {
 public:
  OneAtATime(Workload& workload, bool runs_here) : workload_(workload), runs_here_(runs_here) {}

  std::string name() const override { return workload_.name(); }
  std::string device() const override { return workload_.device(); }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return runs_here_ ? workload_.predict(setting) : std::nullopt;
  }
  std::optional<core::Bytes> predict_run(const trial::Setting& setting) const override {
    return runs_here_ ? workload_.predict_run(setting) : std::nullopt;
  }
  std::optional<std::int64_t> samples() const override { return workload_.samples(); }
  std::optional<std::string> batch_handover() const override { return workload_.batch_handover(); }
  std::unique_ptr<Session> open(const trial::Setting& setting) override {
    return workload_.open(setting);
  }
  bool takes_real_time() const override { return workload_.takes_real_time(); }
  bool has_loader() const override { return workload_.has_loader(); }
  void release() override { workload_.release(); }
  void finish() override { workload_.finish(); }

 private:
  Workload& workload_;
  bool runs_here_;
};

}  // namespace sweetspot::workload
