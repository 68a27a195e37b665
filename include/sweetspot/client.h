#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sweetspot {

// What to train with. batch is the samples per weight update: micro_batch × accumulation.
struct Setting {
  std::int64_t batch = 64, micro_batch = 64, accumulation = 1;
  std::string precision = "fp32";
  int workers = 1;
  double learning_rate = 0.001;
};

// Reports the end of each training step to sweetspot, in a program that `sweetspot tune -- PROGRAM
// …` runs; anywhere else it does nothing. It never throws, never waits for sweetspot in the
// training loop, and drops a report (counted, so that no time is taken across the gap) rather than
// delay training.
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
// If a device works asynchronously, synchronise with it before step() and begin(). Use one object
// for the life of the process; it connects at its first call. Any thread may call it; of two
// concurrent calls one may be dropped. A forked child is silent.
class Client {
 public:
  // `defaults` apply where neither sweetspot nor the environment (SWEETSPOT_BATCH, …) sets a value.
  explicit Client(Setting defaults = {}) noexcept;
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The next step starts now: call it when training begins, and after anything that is not
  // training.
  void begin() noexcept;
  // One weight update has ended. True in a session when this setting is measured and may end.
  // `samples`: the samples it used, on all devices together, if not the setting's batch;
  // `data_wait_seconds`: the part of its time spent waiting for data; `updates`: the number of
  // weight updates, if several run at once; the other values then cover all of them.
  bool step(std::optional<std::int64_t> samples = {}, std::optional<double> data_wait_seconds = {},
            std::int64_t updates = 1) noexcept;
  // The peak memory of a device ("cuda:0") in this setting, and its source. May be called often: it
  // is reported once a second, and when the setting ends.
  void memory(std::string_view device, std::uint64_t peak_bytes, std::string_view how) noexcept;

  // Waits for the next setting from sweetspot; nullopt if there is none. Outside sweetspot, in a
  // group of processes, and after begin() or step(), it returns the setting of the environment,
  // once.
  std::optional<Setting> next() noexcept;
  // The setting last returned by next(), else that of the environment.
  Setting setting() const noexcept;
  // Whether that setting is measured, as of the last step().
  bool enough() const noexcept;
  // Reports that were dropped.
  std::int64_t dropped() const noexcept;

 private:
  class Link;
  std::unique_ptr<Link> link_;
};

}  // namespace sweetspot
