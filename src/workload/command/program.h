#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "workload/command/client/server.h"
#include "workload/command/client_steps.h"
#include "workload/command/gpu/watch.h"
#include "workload/command/options.h"
#include "workload/command/output/loss.h"
#include "workload/command/output/reader.h"
#include "workload/command/process/process.h"
#include "workload/command/step_counter.h"
#include "workload/command/workspace.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// On its test data; for a printed one, the caller knows which metric it is.
struct TestResult {
  std::optional<double> accuracy, loss, printed;
  std::optional<double> noise_scale{};  // of the gradients until then, if a client reports them
};

double monotonic_seconds();  // the clock of all times here, and of the clients

// One process of the training program, observed through its output and its client. Knows nothing of
// trials except the current setting.
class Program {
 public:
  // `memory_limit`: of its processes on the host.
  Program(const Options& options, const trial::Setting& setting, bool terminal,
          const Workspace& workspace, const gpu::Gpus& gpus,
          std::optional<core::Bytes> memory_limit);
  ~Program() { gpu_watch_->stop(); }  // before the processes that it observes

  // Waits until there is something to read, at most this long, and reads it.
  void wait(double most_seconds);

  // The next step, if one is known: from the client once that reports steps, else from the output.
  std::optional<trial::Step> step();

  bool ended() const { return ended_; }  // and all its output has been read
  bool is_session() const { return hello_ && hello_->session; }
  // The session waits for a setting.
  bool asks() const { return asks_; }
  bool was_answered() const { return answers_ > 0; }
  bool was_kept() const { return answers_ > 1; }   // this is not its first setting
  bool has_own_peak() const { return own_peak_; }  // memory() is of this setting alone
  // Its client reports steps, or did before it disconnected.
  bool client_tells() const { return is_session() || client_steps_.first_mark(); }
  bool client_gone() const { return client_tells() && !server_.connected(); }
  // Why the setting failed, if its client said so.
  const std::optional<client::Failed>& failed() const { return failed_; }

  // Answers the session: what follows belongs to this setting. False if nobody listens.
  bool answer(const trial::Setting& setting);
  bool say_enough() { return server_.send(client::enough_line()); }
  bool say_done() { return server_.send(client::done_line()); }

  // The beginning of its output: what libraries print.
  const std::string& first_output() const { return first_output_; }

  // Seconds in which it printed whole lines that are not bars: this detects a program that keeps
  // printing, not one that prints its settings at once.
  std::int64_t talking_seconds() const { return talking_seconds_; }
  double started_at() const { return started_at_; }      // this setting
  double last_sign_at() const { return last_sign_at_; }  // of a step
  double ended_at() const { return ended_at_; }
  std::optional<double> start_up_seconds() const;
  std::string step_source() const;
  bool changed_its_batch() const;
  output::Findings findings() const;      // of both streams, for this setting
  output::Suggestion suggestion() const;  // for when no step was recognised
  // What it shows of its batch.
  std::optional<std::int64_t> steps_total() const;
  std::optional<std::int64_t> samples_per_step() const;
  std::int64_t untimed_updates() const;  // that its output counts, around evaluations and pauses
  std::optional<std::int64_t> sample_stride() const;
  // The losses its client reported, else those it printed.
  std::vector<trial::Loss> losses() const;
  // Those that it told before the steps taken so far had ended. If this process gets no CPU time,
  // many steps are read at once, and a result may be of the last of them.
  std::vector<TestResult> take_results();
  // The noise scale from its client's reports, in samples.
  std::optional<core::Interval> noise_scale() const;
  // The last lines of its errors, else of its output.
  std::string last_output() const;
  std::string last_line() const;  // of the latest output, short
  // The last lines of both, each with its name if there are both.
  std::string last_of_both() const;
  std::int64_t bad_client_lines() const { return server_.bad_lines() + client_steps_.bad(); }
  // The peak that the client reported for this setting.
  const std::optional<client::DeviceMemory>& device_memory() const { return device_memory_; }
  std::optional<process::Memory> memory() { return process_->memory(); }
  // Its processes besides the first: those of a data loader, or of a group.
  std::size_t workers() const { return std::max<std::size_t>(1, process_->count()) - 1; }
  // Its use of GPUs.
  const std::shared_ptr<gpu::Watch>& gpu_watch() const { return gpu_watch_; }
  process::Ending end(core::Seconds grace) {
    gpu_watch_->stop();
    return process_->end(grace);
  }

 private:
  void begin(const trial::Setting& setting);
  void poll(double most_seconds);
  bool take_output();  // false if there was none
  void note_talking(const process::Chunk& chunk);
  bool take_messages();
  void take(const client::Message& message, double now);
  void count();
  void count(std::size_t stream, const std::vector<output::Advance>& advances);

  bool is_of_one_rank(const client::StepEnd& step) const;

  const Options& options_;
  std::int64_t batch_;  // of the current setting
  double started_at_, last_sign_at_, ended_at_ = 0, last_output_at_ = 0;
  client::Server server_;
  std::shared_ptr<gpu::Watch> gpu_watch_;  // created before the process
  // After the server: it gets its path, and is destroyed first.
  std::unique_ptr<process::Watched> process_;
  std::string first_output_;
  std::array<output::Reader, 2> readers_;
  std::size_t last_stream_ = 0;
  std::optional<std::size_t> counting_;  // the stream whose counter it is
  std::optional<client::Hello> hello_;
  bool asks_ = false, ended_ = false, own_peak_ = true;
  int answers_ = 0;
  std::int64_t talking_seconds_ = 0, last_talking_second_ = 0;
  std::optional<double> first_count_at_;
  Counted counted_;
  output::LossCurve printed_losses_, client_losses_;
  convergence::NoiseScale noise_;
  std::int64_t client_updates_ = 0;
  struct ResultAt {
    std::size_t steps;  // to take before it
    TestResult result;
  };
  void keep(const TestResult& result);
  std::deque<ResultAt> results_;
  std::size_t taken_ = 0;  // steps
  client::Steps client_steps_;
  std::deque<trial::Step> counted_steps_;
  std::optional<client::DeviceMemory> device_memory_;
  std::optional<std::int64_t> epoch_batches_;
  std::optional<client::Failed> failed_;
};

}  // namespace sweetspot::workload::command
