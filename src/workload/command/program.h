#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workload/command/client/server.h"
#include "workload/command/client_steps.h"
#include "workload/command/gpu/watch.h"
#include "workload/command/options.h"
#include "workload/command/printed_steps.h"
#include "workload/command/process/process.h"
#include "workload/command/workspace.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// On its test data; for a printed one, the caller knows which metric it is.
struct TestResult {
  std::optional<double> accuracy, loss, printed;
  std::optional<double> noise_scale{};  // of the gradients until then, if a client reports them
};

// One process of the training program, observed through its output and its client. Knows nothing of
// trials except the current setting.
class Program {
 public:
  virtual ~Program() { gpu_watch_->stop(); }  // before the processes that it observes

  // Waits until there is something to read, at most this long, and reads it.
  void wait(double most_seconds);
  // Where its steps come from: the client once that reports steps, else the output.
  const StepSource& steps() const;
  std::optional<trial::Step> take_step();
  // Those that it told before the steps taken so far had ended. If this process gets no CPU time,
  // many steps are read at once, and a result may be of the last of them.
  std::vector<TestResult> take_results();
  const ClientSteps& reported() const { return reported_; }
  const PrintedSteps& printed() const { return printed_; }
  // The beginning of its output: what libraries print.
  const std::string& first_output() const { return first_output_; }
  std::int64_t bad_client_lines() const { return server_.bad_lines() + reported_.bad(); }

  bool ended() const { return ended_at_.has_value(); }  // and all its output has been read
  double started_at() const { return started_at_; }     // this setting
  double ended_at() const { return *ended_at_; }
  double last_sign_at() const;  // of a step
  std::optional<double> start_up_seconds() const;
  // Source, batch, losses and noise scale, and how long the start-up took.
  void tell(trial::SessionReport& report) const;

  bool is_session() const { return client_ == Client::busy || asks(); }
  bool asks() const { return client_ == Client::asks; }  // for a setting
  int answers() const { return answers_; }               // settings it was given
  // Its client reports steps, or did before it disconnected.
  bool client_tells() const { return is_session() || reported_.first_mark(); }
  bool client_gone() const { return client_tells() && !server_.connected(); }
  // Answers the session: what follows belongs to this setting. False if nobody listens.
  bool answer(const trial::Setting& setting);
  // After a setting: whether it waits for the next one, to which a session is brought. It notices
  // at its next step, which may take long. `failed`: without a measurement.
  virtual bool stays(bool failed, double longest_step_seconds, const Until& until) = 0;
  // Whether it keeps memory of a failed setting that the next one would lack, and can be ended.
  virtual bool must_start_anew() const = 0;
  virtual bool end_is_a_verdict() const = 0;  // on the setting
  // There is nothing more to measure: it may have something to save. Waits for nothing.
  virtual void release() { say_done(); }
  void finish(const Until& until);  // the same, and ends it
  void end();

  // Once it was ended.
  const std::optional<process::Ending>& ending() const { return ending_; }
  std::optional<process::Memory> memory() const;  // the peak on the host
  // A peak that earlier settings reached, and that could not be reset: a lower one shows nothing.
  const std::optional<core::Bytes>& earlier_peak() const { return earlier_peak_; }
  // Its processes besides the first: those of a data loader, or of a group.
  std::size_t workers() const { return std::max<std::size_t>(1, process_->count()) - 1; }
  const std::shared_ptr<gpu::Watch>& gpu_watch() const { return gpu_watch_; }

 protected:
  // `connection`: to its client, if there is one already.
  Program(const Options& options, const trial::Setting& setting, const gpu::Gpus& gpus,
          process::Descriptor connection = {});
  void observe(std::unique_ptr<process::Watched> process);
  const client::Server& server() const { return server_; }
  const Options& options() const { return options_; }
  virtual bool is_over() const { return process_->ended(); }
  // False if it does not ask within this time, or has to be ended.
  bool bring_to_ask(std::optional<double> seconds, const Until& until);

 private:
  enum class Client { absent, reports, busy, asks };  // the last two: of a session

  bool take_output();  // false if there was none
  bool take_messages();
  void keep(TestResult result);
  bool say_done();

  const Options& options_;
  double started_at_;
  double answered_at_ = 0;
  std::optional<double> ended_at_;
  client::Server server_;
  std::shared_ptr<gpu::Watch> gpu_watch_;  // created before the process
  // After the server: it gets its path, and is destroyed first.
  std::unique_ptr<process::Watched> process_;
  std::optional<process::Ending> ending_;
  std::optional<core::Bytes> earlier_peak_;
  std::string first_output_;
  Client client_ = Client::absent;
  int answers_ = 0;
  bool told_done_ = false;
  ClientSteps reported_;
  PrintedSteps printed_;
  struct ResultAt {
    std::size_t steps;  // to take before it
    TestResult result;
  };
  std::deque<ResultAt> results_;
  std::size_t taken_ = 0;  // steps
};

// Started for a trial, and kept for the next ones if its client opens a session.
class StartedProgram final : public Program {
 public:
  // `memory_limit`: of its processes on the host.
  StartedProgram(const Options& options, const trial::Setting& setting, bool terminal,
                 const Workspace& workspace, const gpu::Gpus& gpus,
                 std::optional<core::Bytes> memory_limit);
  bool stays(bool failed, double longest_step_seconds, const Until& until) override;
  bool must_start_anew() const override;
  bool end_is_a_verdict() const override { return true; }
};

// The program that called us over this connection, and trains in its own process: it is not ours to
// end, and gets its answer before it is told that all is done.
class CallingProgram final : public Program {
 public:
  CallingProgram(const Options& options, const trial::Setting& setting,
                 process::Descriptor connection, const gpu::Gpus& gpus);
  bool stays(bool failed, double longest_step_seconds, const Until& until) override;
  bool must_start_anew() const override { return false; }
  bool end_is_a_verdict() const override { return false; }  // we end with it
  void release() override {}

 private:
  bool is_over() const override { return Program::is_over() || !server().connected(); }
};

}  // namespace sweetspot::workload::command
