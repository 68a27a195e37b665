#include "workload/native/ranked_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <new>
#include <vector>

#include "collective/threads/threads.h"
#include "core/error.h"
#include "stats/interval.h"
#include "workload/native/device.h"
#include "workload/native/native_workload.h"
#include "workload/native/session.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// What the first rank orders all of them to do now, including itself.
struct Order {
  enum class Kind { end, open, step, close, scaling };
  Kind kind = Kind::end;
  std::int64_t session = 0;
  trial::Setting setting;  // to open, or to measure the scaling of
  core::Seconds scaling_time{0};
};

// As numbers that a sum over the ranks preserves, since the others add zeros.
constexpr std::size_t order_numbers = 11;
std::array<double, order_numbers> numbers_of(const Order& order) {
  const trial::Setting& s = order.setting;
  constexpr std::uint64_t half = std::uint64_t{1} << 32;  // of a seed: a double holds 53 bits
  return {static_cast<double>(order.kind),
          static_cast<double>(order.session),
          static_cast<double>(s.batch),
          static_cast<double>(s.accumulation),
          static_cast<double>(precision_named(s.configuration.precision)),
          static_cast<double>(s.configuration.workers),
          static_cast<double>(s.configuration.prefetch),
          s.learning_rate,
          static_cast<double>(s.seed / half),
          static_cast<double>(s.seed % half),
          order.scaling_time.count()};
}
Order order_of(const std::array<double, order_numbers>& n) {
  Order order;
  order.kind = static_cast<Order::Kind>(n[0]);
  order.session = static_cast<std::int64_t>(n[1]);
  trial::Setting& s = order.setting;
  s.batch = static_cast<std::int64_t>(n[2]), s.accumulation = static_cast<std::int64_t>(n[3]);
  s.configuration.precision = name(static_cast<engine::Precision>(n[4]));
  s.configuration.workers = static_cast<int>(n[5]),
  s.configuration.prefetch = static_cast<int>(n[6]);
  s.learning_rate = n[7];
  s.seed = (static_cast<std::uint64_t>(n[8]) << 32) + static_cast<std::uint64_t>(n[9]);
  order.scaling_time = core::Seconds(n[10]);
  return order;
}

double sum_over_ranks(collective::Group& group, double value) {
  group.sum({&value, 1});
  return value;
}

// Every rank tries; if one fails, none proceeds. nullptr if all succeed, else the reason.
template <class Try>
std::exception_ptr all_or_none(collective::Group& group, const trial::Setting& setting,
                               Try attempt) {
  std::exception_ptr failure;
  bool lacks_memory = false;
  try {
    attempt();
  } catch (const core::OutOfMemory&) {
    failure = std::current_exception(), lacks_memory = true;
  } catch (const std::bad_alloc&) {
    failure = std::current_exception(), lacks_memory = true;
  } catch (const core::Error&) {
    failure = std::current_exception();
  }
  double failed[] = {failure ? 1. : 0., lacks_memory ? 1. : 0.};
  group.sum(failed);
  if (failure || failed[0] == 0) return failure;
  if (failed[1] > 0)
    return std::make_exception_ptr(core::OutOfMemory(
        fmt::format("another rank has no memory for a batch of {}", setting.batch)));
  return std::make_exception_ptr(core::MachineError(
      fmt::format("another rank cannot run a batch of {}; try it there alone", setting.batch)));
}

// During its lifetime the run is that of a single rank.
class Alone {
 public:
  explicit Alone(Run& run) : run_(run), options_(run.options), trainer_(run.trainer.ranks) {
    run_.options.ranks = {};
    run_.options.pipeline.share = {};
    run_.trainer.ranks = {};
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() {
    run_.options.ranks = options_.ranks;
    run_.options.pipeline.share = options_.pipeline.share;
    run_.trainer.ranks = trainer_;
  }

 private:
  Run& run_;
  const Options options_;
  const engine::Ranks trainer_;
};

// Times of steps that all ranks make together, and of those that each makes alone.
class ScalingRounds {
 public:
  ScalingRounds(collective::Group& group, Session& together, Session& alone)
      : group_(group), together_(together), alone_(alone) {
    warm_up(together_), warm_up(alone_);
    // The first rank decides the length, so that all make the same number.
    const double step = together_.step().seconds;
    steps_ = static_cast<std::int64_t>(
        of_first(std::clamp(std::ceil(block_seconds / std::max(step, 1e-9)), 1., 1e6)));
  }

  // The result is meaningful only on rank 0.
  std::optional<trial::Scaling> run(core::Seconds time) {
    const auto start = Clock::now();
    std::vector<double> efficiencies;
    trial::Scaling sums;
    for (std::size_t round = 0; round < most_rounds; ++round) {
      const bool enough =
          round >= least_rounds && core::Seconds(Clock::now() - start).count() >= time.count();
      if (of_first(enough ? 1 : 0) > 0) break;
      // The single rank alternately first and last, so that drift affects both.
      const bool reversed = round % 2 == 1;
      double alone = reversed ? 0 : block_of_first();
      const double together = block(together_, steps_);
      if (reversed) alone = block_of_first();
      group_.barrier();
      const double apart = sum_over_ranks(group_, block(alone_, steps_)) / group_.size();
      efficiencies.push_back(alone / together);
      sums.step_seconds += together, sums.alone_seconds += alone, sums.apart_seconds += apart;
    }
    const auto efficiency = stats::independent_mean(efficiencies);
    if (!efficiency) return std::nullopt;
    const auto rounds = static_cast<double>(efficiencies.size());
    sums.ranks = group_.size();
    sums.step_seconds /= rounds, sums.alone_seconds /= rounds, sums.apart_seconds /= rounds;
    sums.efficiency = *efficiency;
    return sums;
  }

 private:
  static constexpr double block_seconds = 0.1;
  static constexpr std::size_t least_rounds = 4, most_rounds = 1000;

  static void warm_up(Session& session) {
    for (int i = 0; i < 3; ++i) session.step();
  }
  // Seconds per update, of which a GPU's step has several.
  static double block(Session& session, std::int64_t steps) {
    double seconds = 0;
    std::int64_t updates = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
      const trial::Step step = session.step();
      seconds += step.seconds, updates += step.updates;
    }
    return seconds / static_cast<double>(updates);
  }
  double block_of_first() {
    group_.barrier();
    const double seconds = group_.rank() == 0 ? block(alone_, steps_) : 0;
    group_.barrier();
    return seconds;
  }
  double of_first(double value) { return sum_over_ranks(group_, group_.rank() == 0 ? value : 0); }

  collective::Group& group_;
  Session& together_;
  Session& alone_;
  std::int64_t steps_ = 1;
};

// Executes an order on every rank.
class Performer {
 public:
  Performer(Run& run, Sessions& sessions)
      : run_(run), sessions_(sessions), group_(*run.options.ranks.group) {}

  void tell(const Order& order) const {
    auto numbers = numbers_of(order);
    group_.sum(numbers);
  }
  Order hear() const {
    std::array<double, order_numbers> numbers{};
    group_.sum(numbers);
    return order_of(numbers);
  }

  // The error of any rank; else null.
  std::exception_ptr open(const Order& order) {
    std::unique_ptr<Session> session;
    const std::exception_ptr failure = all_or_none(group_, order.setting, [&] {
      session = sessions_.open(run_, session_options_at(run_, order.setting));
    });
    if (!failure) open_.emplace(order.session, std::move(session));
    return failure;
  }
  Session& session(std::int64_t number) const { return *open_.at(number); }
  void close(std::int64_t number) { open_.erase(number); }

  // nullopt if a rank cannot.
  std::optional<trial::Scaling> scaling(const Order& order) {
    std::unique_ptr<Session> together, alone;
    if (all_or_none(group_, order.setting, [&] {
          together = sessions_.open(run_, session_options_at(run_, order.setting));
          alone = open_alone(order.setting);
        }))
      return std::nullopt;
    return ScalingRounds(group_, *together, *alone).run(order.scaling_time);
  }
  trial::Setting part_of(trial::Setting setting) const {
    setting.batch /= group_.size();
    return setting;
  }
  collective::Group& group() const { return group_; }

 private:
  std::unique_ptr<Session> open_alone(const trial::Setting& setting) {
    const Alone alone(run_);
    return open_session(run_, part_of(setting));
  }

  Run& run_;
  Sessions& sessions_;
  collective::Group& group_;
  std::map<std::int64_t, std::unique_ptr<Session>> open_;
};

class RankedWorkload final : public NativeWorkload {
 public:
  explicit RankedWorkload(Run run)
      : NativeWorkload(std::move(run)),
        performer_(run_, sessions_),
        ranks_in_memory_(run_.options.ranks_in_memory()) {}
  ~RankedWorkload() override { tell_quietly({}); }

  std::optional<core::Bytes> predict(const trial::Setting& setting, Extent extent) const override {
    return of_machine(NativeWorkload::predict(setting, extent));
  }
  std::vector<trial::OperationCost> operations(const trial::Setting& setting) override {
    const Alone alone(run_);
    return NativeWorkload::operations(performer_.part_of(setting));
  }
  std::optional<trial::GradientNoise> gradient_noise(const trial::Setting& setting,
                                                     std::int64_t largest, core::Seconds time,
                                                     const std::atomic<int>& stop) override {
    const Alone alone(run_);
    return NativeWorkload::gradient_noise(setting, std::max<std::int64_t>(largest / size(), 1),
                                          time, stop);
  }
  // The same updates, by one rank in as many passes as there are ranks.
  std::optional<trial::RateRun> try_rate(const trial::Setting& setting, std::int64_t steps,
                                         const std::atomic<int>& stop) override {
    const Alone alone(run_);
    trial::Setting passes = setting;
    passes.accumulation *= size();
    return NativeWorkload::try_rate(passes, steps, stop);
  }
  std::optional<core::Bytes> evaluate(const trial::Setting& setting,
                                      const std::atomic<int>& stop) override {
    const Alone alone(run_);
    return of_machine(NativeWorkload::evaluate(performer_.part_of(setting), stop));
  }
  std::optional<trial::Scaling> scaling(const trial::Setting& setting, core::Seconds time,
                                        const std::atomic<int>&) override {
    const Order order{Order::Kind::scaling, 0, setting, time};
    performer_.tell(order);
    return performer_.scaling(order);
  }
  std::unique_ptr<Session> open(const trial::Setting& setting) override {
    const Order order{Order::Kind::open, sessions_opened_++, setting, {}};
    performer_.tell(order);
    if (const auto failure = performer_.open(order)) std::rethrow_exception(failure);
    return std::make_unique<RankedSession>(*this, order.session);
  }

 private:
  class RankedSession final : public Session {
   public:
    RankedSession(RankedWorkload& workload, std::int64_t number)
        : workload_(workload), number_(number) {}
    ~RankedSession() override {
      workload_.tell_quietly({Order::Kind::close, number_, {}, {}});
      workload_.performer_.close(number_);
    }
    // Synchronising the start is not part of its time.
    trial::Step step(const Until& until) override {
      workload_.performer_.tell({Order::Kind::step, number_, {}, {}});
      return own().step(until);
    }
    Seen seen() const override {
      Seen seen = own().seen();
      for (core::Bytes& bytes : seen.memory_by_use->bytes) bytes *= workload_.ranks_in_memory();
      seen.memory = seen.memory_by_use->total();
      return seen;
    }
    Account close() override { return own().close(); }

   private:
    Session& own() const { return workload_.performer_.session(number_); }

    RankedWorkload& workload_;
    const std::int64_t number_;
  };

  int size() const { return performer_.group().size(); }
  core::Bytes ranks_in_memory() const { return static_cast<core::Bytes>(ranks_in_memory_); }
  std::optional<core::Bytes> of_machine(std::optional<core::Bytes> bytes) const {
    if (bytes) *bytes *= ranks_in_memory();
    return bytes;
  }
  // With an exception in flight, others may be in the middle of a step: they are ended with us.
  void tell_quietly(const Order& order) noexcept {
    if (std::uncaught_exceptions() > 0) return;
    try {
      performer_.tell(order);
    } catch (const core::Error&) {
    }
  }

  Performer performer_;
  const int ranks_in_memory_;
  std::int64_t sessions_opened_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_ranked_workload(Run run) {
  return std::make_unique<RankedWorkload>(std::move(run));
}

void follow_first_rank(Run run) {
  Sessions sessions;
  Performer performer(run, sessions);
  for (Order order = performer.hear(); order.kind != Order::Kind::end; order = performer.hear()) {
    switch (order.kind) {
      case Order::Kind::open:
        performer.open(order);  // if it cannot, the first rank reports it
        break;
      case Order::Kind::step:
        performer.session(order.session).step();
        break;
      case Order::Kind::close:
        performer.close(order.session);
        break;
      case Order::Kind::scaling:
        performer.scaling(order);
        break;
      case Order::Kind::end:
        break;
    }
  }
}

std::optional<trial::Scaling> measure_scaling(Run run, const trial::Setting& setting,
                                              core::Seconds time) {
  Sessions sessions;
  return Performer(run, sessions).scaling({Order::Kind::scaling, 0, setting, time});
}

double rank_cost_seconds(const Run& run, const trial::Setting& setting, core::Seconds time) {
  using Clock = std::chrono::steady_clock;
  constexpr double block_seconds = 0.05;
  const auto only_rank = collective::alone();
  Options options = session_options_at(run, setting);
  const std::unique_ptr<Session> plain = Sessions().open(run, options);
  options.ranks.group = only_rank.get();
  const std::unique_ptr<Session> as_rank = Sessions().open(run, options);
  const auto block = [&](Session& session) {
    double seconds = 0;
    std::int64_t steps = 0;
    session.step();  // warms up the caches
    for (; seconds < block_seconds; ++steps) seconds += session.step().seconds;
    return seconds / static_cast<double>(steps);
  };
  std::vector<double> differences;
  const auto start = Clock::now();
  while (differences.empty() || core::Seconds(Clock::now() - start) < time) {
    const double before = block(*plain);
    const double between = block(*as_rank);
    differences.push_back(between - (before + block(*plain)) / 2);
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::ranges::nth_element(differences, middle);
  return std::max(*middle, 0.0);
}

}  // namespace sweetspot::workload::native
