#pragma once
#include <memory>
#include <optional>
#include <string>

#include "workload/command/program.h"
#include "workload/command/programs.h"
#include "workload/command/verdict.h"
#include "workload/memory_growth.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// One trial of the program. Must not outlive the trials it belongs to.
class CommandSession final : public Session {
 public:
  CommandSession(Programs& programs, const trial::Setting& setting);
  ~CommandSession() override;

  // The first step starts the program.
  trial::Step step(const Until& until) override;
  Account close() override;
  Seen seen() const override;
  // On its test data, reported since the last call.
  std::vector<TestResult> take_results();
  // So far, besides the steps: those whose time is unknown, since an evaluation came in between.
  std::int64_t untimed_updates() const;

 private:
  void start(const Until& until);
  std::optional<trial::Step> next(const Until& until);
  void judge_while_it_runs(const Until& until);
  void judge_what_it_prints(const Until& until);
  void answer();
  void judge_without_a_client();
  std::optional<trial::Step> judge_its_end(const Until& until);
  trial::Step whole_run(const Until& until);
  bool bring_to_ask();
  bool must_start_anew() const;
  std::string left_behind() const;
  void end_process();
  std::vector<SeenGpu> gpus() const;
  void tell_memory();
  void tell_host_memory(const process::Memory& host);
  gpu::GpuAccount tell_gpus();
  void look_at_memory();
  bool is_on_device() const;
  std::optional<core::Bytes> memory_margin() const;
  void note_lack();
  void tell_lack();
  ProgramEnd evidence() const;

  Programs& programs_;
  trial::Setting setting_;
  std::unique_ptr<Program> program_;
  std::optional<process::Ending> ending_;  // of the process, once it has ended
  bool kept_before_ = false;               // the process has served earlier trials
  core::Bytes host_peak_before_ = 0;       // of those
  std::optional<double> client_gone_at_;
  std::int64_t steps_ = 0;
  const std::atomic<int>* stop_ = nullptr;  // of the last step
  double next_told_at_ = 0, next_judged_at_ = 0;
  double longest_step_seconds_ = 0;
  bool failed_ = false, whole_runs_ = false, closed_ = false;
  MemoryMessage lack_;    // of a trial that ran out of memory
  MemoryGrowth course_;   // of its peak, while it stepped
  MemoryGrowth tensors_;  // the same without the allocator's cache, if its client reports it
  double next_look_at_ = 0;
  Account account_;
};

}  // namespace sweetspot::workload::command
