#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convergence/learning_rate_rule.h"
#include "search/search.h"
#include "trial/answer_checks.h"
#include "trial/end.h"
#include "trial/setting_fields.h"
#include "trial/trial.h"

namespace sweetspot::advise {

enum class Bottleneck { step_overhead, data_loading, compute, memory_bandwidth, memory_capacity };
std::string_view name(Bottleneck);   // "step_overhead", …
std::string_view words(Bottleneck);  // "step overhead", …

// This machine's peak rates, measured by `doctor`; unknown ones are not part of the diagnosis.
struct Roofline {
  std::optional<double> flops_per_second, bytes_per_second;
};
// The arithmetic of one sample, and a lower bound of its memory traffic.
struct SampleCost {
  std::optional<double> flops, bytes;
};

// The loader advice at the chosen batch, tested in a separate trial.
struct LoaderCheck {
  int workers = 1, prefetch = 2;
  double samples_per_second_before = 0;
  std::optional<double> samples_per_second;  // nullopt if that trial failed
  std::optional<double> data_wait_share;
  std::optional<core::Bytes> memory_bytes;
  bool operator==(const LoaderCheck&) const = default;
};
bool check_helped(const LoaderCheck& check);  // by enough to recommend it

// Loader workers that were tried, and the fewest that are about as fast as any.
struct WorkerSearch {
  struct Tried {
    std::int64_t batch = 1;
    int workers = 1;
    double samples_per_second = 0;
    bool operator==(const Tried&) const = default;
  };
  int workers = 1;
  std::vector<Tried> tried;
  bool operator==(const WorkerSearch&) const = default;
};

// The lower bound of an operation's time on such a machine; nullopt if unknown.
std::optional<double> floor_seconds(const trial::OperationCost& operation,
                                    const Roofline& roofline);

// A kernel of ours that is far above its lower bound, and a large part of a step.
struct SlowKernel {
  std::string operation;   // the longest of those that it computes
  std::int64_t alike = 0;  // how many others
  double share = 0;        // of a step, all of them
  double times_floor = 0;
  bool operator==(const SlowKernel&) const = default;
};
std::optional<SlowKernel> slow_kernel(std::span<const trial::OperationCost> operations,
                                      const Roofline& roofline);
// Its share of a step that also waits for data; nullopt if little is left.
std::optional<SlowKernel> of_whole_step(const std::optional<SlowKernel>& kernel,
                                        double data_wait_share);

// The answer, run for longer than a trial, to confirm it.
struct Confirmation {
  std::string asked;                   // "200 steps", "an epoch"
  bool confirmed = false;              // it completed, within the limit
  std::int64_t batch = 0;              // the batch of the last run; 0: none
  std::int64_t steps = 0;              // that it made
  std::optional<core::Bytes> memory;   // its peak then
  std::optional<std::int64_t> larger;  // the previous answer, which failed
  std::string why;                     // it failed, one line
  bool operator==(const Confirmation&) const = default;
};

// A learning rate that suits a batch, from which another batch's is derived.
struct LearningRateBase {
  double rate = 0.001;
  std::int64_t batch = 1;
  bool adaptive = true;                               // like Adam
  std::optional<convergence::LearningRateRule> rule;  // requested; else by optimizer and noise
  bool operator==(const LearningRateBase&) const = default;
};
// The learning rate of an answer, and its derivation.
struct LearningRate {
  LearningRateBase base;
  convergence::LearningRateRule rule = convergence::LearningRateRule::none;
  std::optional<double> noise_scale;  // used by the rule
  double by_rule = 0.001, rate = 0.001;
  std::vector<trial::RateRun> tried;  // half, the rule's and twice, if requested
  bool operator==(const LearningRate&) const = default;
};
LearningRate learning_rate_for(const LearningRateBase& base, std::int64_t batch,
                               const std::optional<core::Interval>& noise);
// Another tried rate is chosen if its loss was clearly lower, or the rule's diverged.
void choose_among_tried(LearningRate& rate);

struct Facts {
  search::Limits limits;
  Roofline roofline;
  SampleCost cost;
  search::Predict predict_run;  // memory of a whole run by batch, including its evaluation
  std::optional<std::int64_t> largest_fitting;
  std::optional<std::int64_t> clamp;  // about the largest batch that the program uses
  bool has_loader = true;             // with selectable workers
  std::optional<LoaderCheck> loader_check;
  std::optional<WorkerSearch> worker_search;
  std::optional<SlowKernel> slow_kernel;  // at the chosen batch
  std::optional<Confirmation> confirmation;
  std::optional<trial::GradientNoise> noise;
  std::optional<LearningRateBase> rate_base;  // nullopt: the learning rate as in the trials
  std::vector<trial::RateRun> tried_rates;
  std::optional<std::int64_t> global_batch;  // given; the sizes of the trials are micro-batches
  // For a program on several GPUs, as stated by the user.
  std::optional<int> gpus;
  trial::BatchIs batch_is = trial::BatchIs::unsaid;
  std::int64_t ranks = 1;                 // of ours that share every batch
  std::optional<trial::Scaling> scaling;  // of these, at the chosen batch
  std::optional<trial::End> cut_short;    // why the search is incomplete
  std::optional<double> budget_seconds;
  std::vector<std::string> notes;  // what else the user should know about the choice
};

// The fixed cost of a step, and that per sample: a straight line through step times.
struct StepCost {
  double fixed_seconds = 0, per_sample_seconds = 0;
  double seconds(std::int64_t batch) const;
  double fixed_share(std::int64_t batch) const;
  bool operator==(const StepCost&) const = default;
};
// That line through the speeds of a decision, up to the fastest batch: larger ones do not explain
// why smaller ones are slower, and may have another slope.
std::optional<StepCost> step_cost(const search::Decision& decision);
// That line through the trials themselves, without a decision: they differ only in the batch. Data
// wait is excluded: it has its own name.
std::optional<StepCost> step_cost(std::span<const trial::Trial* const> trials);

// The used share of the machine's peaks at this throughput; unknown ones are nullopt.
struct RooflineShare {
  std::optional<double> flops, bytes;
  bool operator==(const RooflineShare&) const = default;
};
RooflineShare roofline_share(double samples_per_second, const Facts& facts);

// Relative to a mean step's time, in [0, 1]; nullopt if the phases are unknown.
std::optional<double> data_wait_share(const trial::Trial& trial);

// The bottleneck of each trial, in their order, from its phases, the fixed cost of a step (from the
// line through the trials that differ only in the batch) and the roofline.
std::vector<std::optional<Bottleneck>> bottlenecks(std::span<const trial::Trial> trials,
                                                   const Facts& facts);

// Workers and prefetch that would hide loading at a batch, from the phases measured there; nullopt
// if loading is not the bottleneck.
struct LoaderAdvice {
  int workers = 1, prefetch = 2;
  double hidden_share = 0;  // share of the step's time now spent waiting
  bool operator==(const LoaderAdvice&) const = default;
};
std::optional<LoaderAdvice> loader_advice(const trial::Trial& trial);

// The phrase for an answer that is based only on contended trials.
constexpr std::string_view measured_while_busy = "measured while the machine was busy";

// One batch of the answer's table. Speeds come from the one model: they are consistent.
struct BatchRow {
  std::int64_t batch = 1;  // the micro-batch if the batch is given
  std::optional<core::Interval> samples_per_second, share;
  std::optional<double> within_tolerance;  // the probability
  std::optional<core::Bytes> memory;       // of a whole run, including its evaluation
  std::optional<core::Interval> joules_per_sample;
  std::optional<Bottleneck> limited_by;
  trial::Outcome outcome = trial::Outcome::ok;
  std::string note;  // why it is not ok, one short line
  bool operator==(const BatchRow&) const = default;
};

// A configuration that was searched as a separate curve; its loader is the search's own.
struct Variant {
  trial::Configuration configuration;
  std::int64_t batch = 1;  // the answer if there were no other variant
  double samples_per_second = 0;
  std::optional<double> joules_per_sample;
  std::optional<double> loss;  // after Recommendation::loss_step steps at its loss_batch
  std::vector<BatchRow> rows;  // ascending
  bool operator==(const Variant&) const = default;
};

// The fastest measured batch, if it is not the answer: what is given up, and what it would cost.
struct GivenUp {
  std::int64_t batch = 1;
  double samples_per_second = 0;
  double faster = 0;                  // share of the answer's speed
  std::optional<core::Bytes> memory;  // of a whole run
  std::optional<double> times_memory, times_noise_scale;
  bool operator==(const GivenUp&) const = default;
};

// Why this is the answer: each quotes figures of the recommendation.
enum class Reason {
  energy,         // energy per sample, the saving and its cost in time
  precision,      // which one is how much faster
  loss,           // of each precision after equal steps
  noise,          // up to which batch a sample is worth as much as in a small one
  learning_rate,  // by which rule
  step_cost,      // the fixed cost of a step, and that per sample
  limit,          // the bottleneck of the chosen batch
  given_up,       // how much faster another batch is, and what that would take
  slow_kernel,    // one of our kernels is far slower than the machine
  memory,         // what it takes, what is allowed, the largest batch that fits
  knee,           // the interval of the knee
  accumulation,   // how the given batch is made of micro-batches
  workers,        // loader workers were searched
  loader,         // loader advice was followed in a trial
  loading_below,  // loading limits smaller batches
  neighbours,     // the machine was slower than its baseline
  contended,      // other work disturbed the measurements
  changed,        // the previous answer was different
  cut_short,      // the search was incomplete
  confirmation,   // the result of --confirm
  inputs_vary,    // steps vary in time and memory as with inputs of varying length
  several_gpus,   // what the batch of a program on several GPUs refers to
  clamped,        // the program runs larger batches as a smaller one
  scaling,        // the speed of the ranks compared with a single one
  note            // Recommendation::notes
};
std::string_view name(Reason);

// The complete answer of a tune: every output format renders this and computes nothing.
struct Recommendation {
  trial::Setting setting;
  std::string command;  // trains with it; empty if there is none
  search::Objective objective = search::Objective::throughput;
  double tolerance = 0.05;
  std::optional<std::int64_t> global_batch;  // given: batches below are micro-batches
  std::int64_t batch = 1, best_batch = 1;    // of the table
  double samples_per_second = 0, best_samples_per_second = 0;
  double throughput_share = 0;      // of the best
  std::optional<GivenUp> given_up;  // nullopt: it is the fastest itself
  std::optional<core::Bytes> memory_bytes;
  bool has_run_memory = false;  // it is that of a whole run with its evaluation, else of its trials
  std::optional<core::Bytes> memory_limit;
  std::optional<core::Bytes> memory_margin;  // possible growth in an hour
  bool inputs_vary = false;
  std::optional<Confirmation> confirmation;
  std::optional<trial::GradientNoise> noise;
  std::optional<LearningRate> learning_rate;  // nullopt: as given, in `setting`
  // For a program on several GPUs: what the batch refers to, and if it is per GPU, their number.
  trial::BatchIs batch_is = trial::BatchIs::unsaid;
  std::optional<std::int64_t> gpus;
  std::int64_t ranks = 1;                 // of ours: each has this fraction of a batch
  std::optional<trial::Scaling> scaling;  // of these, at this batch, measured
  std::string memory_device;              // of a program: "cuda:0 (NVIDIA H200)"; or empty
  std::optional<double> joules_per_sample, best_joules_per_sample;  // of the answer, the fastest
  std::optional<std::int64_t> largest_batch;                        // that fits
  std::optional<std::int64_t> clamp_batch;  // about the largest that the program uses
  std::optional<Bottleneck> limited_by;
  std::optional<SlowKernel> slow_kernel;
  std::optional<double> data_wait_share;  // of a step at this batch
  std::optional<RooflineShare> roofline;
  std::int64_t knee_low = 1, knee_high = 1;    // the 95% interval of the knee
  std::int64_t alike_low = 1, alike_high = 1;  // these would do about as well
  double regret = 0;                           // see search::Decision
  std::optional<StepCost> step_cost;
  std::vector<BatchRow> rows;     // ascending
  std::vector<Variant> variants;  // empty unless several were searched; this one is among them
  std::optional<std::int64_t> loss_batch, loss_step;
  std::optional<WorkerSearch> worker_search;
  std::optional<LoaderCheck> loader_check;
  // Below the answer: the largest batch that loading limits, and what would hide it.
  std::optional<std::int64_t> loading_batch;
  std::optional<LoaderAdvice> loading_advice;
  std::optional<double> slowed_share;  // of the rounds, by neighbours
  bool contended = false;
  std::string contention_reason;
  std::optional<std::int64_t> previous_batch;  // the previous answer, if it was different
  std::optional<trial::End> cut_short;         // why the search was incomplete
  std::optional<double> budget_seconds;
  std::vector<std::string> notes;
  std::vector<Reason> reasons;  // those that apply, most important first

  const BatchRow* chosen_row() const;
  // Of one rank, in one pass.
  std::int64_t rank_micro_batch() const { return setting.micro_batch() / ranks; }
  bool operator==(const Recommendation&) const = default;
};
// nullopt if the decided batch was not measured. The caller sets `command`.
std::optional<Recommendation> recommend(std::span<const trial::Trial> trials,
                                        const search::Decision& decision, const Facts& facts);

// From answers on several curves, each a variant: the fastest, or for energy the one with the least
// within the tolerance of the fastest; among equals the first. The trials provide the variants'
// losses after equal steps. At least one.
Recommendation best_variant(std::vector<Recommendation> made, std::span<const trial::Trial> trials);
// What a sentence says of the setting besides the batch: "in bf16", "at 500 W".
std::vector<const trial::SettingField*> told_fields(const Recommendation& made);
std::string name_of(const Variant& variant, const Recommendation& made);  // "bf16", "500 W"

// The fastest of everything measured, in any variant.
struct Fastest {
  const BatchRow* row = nullptr;
  const Variant* variant = nullptr;  // nullptr if there are none
};
Fastest fastest(const Recommendation& made);

// The noise scale in samples for judging an answer: that after some training, where the gradient is
// as noisy as during most of it.
std::optional<core::Interval> noise_scale(const Recommendation& made);
// The batch in multiples of the noise scale, if it is far beyond it.
std::optional<double> times_noise_scale(const Recommendation& made);

// The only place that words it.
std::string sentence(const Recommendation& made);  // the main one: "Train with batch 128: …"
// The alternatives: "64 to 256 would do about as well"; empty if there are none.
std::string alike(const Recommendation& made);
std::string_view size_word(const Recommendation& made);  // "batch", or "micro-batch" of a given one
std::string words(Reason reason, const Recommendation& made);
std::vector<std::string> reasons_in_words(const Recommendation& made);

}  // namespace sweetspot::advise
