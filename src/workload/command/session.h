#pragma once
#include <optional>
#include <vector>

#include "workload/command/memory_account.h"
#include "workload/command/program.h"
#include "workload/command/step_source.h"
#include "workload/command/verdict.h"
#include "workload/command/workload.h"

namespace sweetspot::workload::command {

// One trial of the program. Must not outlive its workload.
class CommandSession final : public Session {
 public:
  CommandSession(CommandWorkload& workload, const trial::Setting& setting);
  ~CommandSession() override;

  // The first step starts the program.
  trial::Step step(const Until& until) override;
  Seen seen() const override;
  Account close() override;
  // On its test data, reported since the last call.
  std::vector<TestResult> take_results();
  // So far, besides the steps: those whose time is unknown, since an evaluation came in between.
  std::int64_t untimed_updates() const;

 private:
  std::optional<trial::Step> next(const Until& until);
  void judge_while_it_runs(const Until& until);
  void judge_what_it_prints(const Until& until);
  void answer();
  void judge_without_a_client();
  std::optional<trial::Step> judge_its_end(const Until& until);
  trial::Step whole_run(const Until& until);
  void end_program();
  void conclude_run(const Until& until);
  void tell_what_it_showed();
  ProgramEnd known() const;

  CommandWorkload& workload_;
  trial::Setting setting_;
  std::unique_ptr<Program> program_;
  std::optional<WholeRuns> whole_runs_;  // once nothing else shows its steps
  MemoryAccount memory_;
  std::optional<double> client_gone_at_;
  const std::atomic<int>* stop_ = nullptr;  // of the last step
  std::int64_t steps_ = 0;
  double next_told_at_ = 0, next_judged_at_ = 0;
  double longest_step_seconds_ = 0;
  bool failed_ = false;
  Account account_;
};

}  // namespace sweetspot::workload::command
