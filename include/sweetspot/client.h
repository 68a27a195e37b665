#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot {

// What to train with. batch is the samples of one weight update: micro_batch × accumulation.
struct Setting {
  std::int64_t batch = 64, micro_batch = 64, accumulation = 1;
  std::string precision = "fp32";
  int workers = 1;
  double learning_rate = 0.001;
};

// Tells sweetspot when a training step ends, in a program that `sweetspot tune -- PROGRAM …` runs;
// anywhere else it does nothing. It never throws, never waits for sweetspot in the training loop,
// and drops a report (counted, so that no time is taken across the gap) rather than be late.
//
// One line in a loop:                      Or a session, which pays for start-up once:
//
//   sweetspot::Client client;                sweetspot::Client client;
//   client.begin();                          while (const auto setting = client.next()) {
//   for (…) {                                  make_model(setting->batch);
//     train(batch);                            client.begin();
//     client.step(batch.size());               do train(); while (!client.step());
//   }                                        }
//
// Where a device works behind the program's back, synchronise with it before step() and begin().
// One object for the life of the process; it connects at its first call. Any thread may call it:
// of two that call at the same time one may be dropped. A forked child is silent.
class Client {
 public:
  // `defaults` fill what neither sweetspot nor the environment (SWEETSPOT_BATCH, …) says.
  explicit Client(Setting defaults = {}) noexcept;
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The next step starts now: when training begins, and after a pause that is none.
  void begin() noexcept;
  // One weight update has ended. True in a session when this setting is measured and may end.
  // `samples`: those that went into it, on all devices together, if not the setting's batch;
  // `data_wait_seconds`: how much of its time was spent waiting for data; `updates`: how many
  // weight updates have ended, where several run in one go, and the others are of all of them.
  bool step(std::optional<std::int64_t> samples = {}, std::optional<double> data_wait_seconds = {},
            std::int64_t updates = 1) noexcept;
  // The most memory of a device ("cuda:0") that this setting has taken, and how that is known. Call
  // it as often as you like: it is reported once a second, and when the setting ends.
  void memory(std::string_view device, std::uint64_t peak_bytes, std::string_view how) noexcept;

  // Waits for the next setting that sweetspot asks for; nothing when there is none. Outside
  // sweetspot, in a group of processes, and after begin() or step() it is the one setting of the
  // environment, once.
  std::optional<Setting> next() noexcept;
  // The setting that next() gave last, else that of the environment.
  Setting setting() const noexcept;
  // Whether that setting is measured, as of the last step().
  bool enough() const noexcept;
  // Reports that were thrown away.
  std::int64_t dropped() const noexcept;

 private:
  class Link;
  std::unique_ptr<Link> link_;
};

}  // namespace sweetspot
