#pragma once
#include <sweetspot/client.h>

#include <atomic>
#include <mutex>

#include "message.h"
#include "wire.h"

namespace sweetspot {

// The implementation of a Client: it may throw, and is then closed.
class Client::Link {
 public:
  explicit Link(Setting its_setting) : setting_(std::move(its_setting)), defaults_(setting_) {}

  void begin();
  void step(std::optional<std::int64_t> samples, std::optional<double> data_wait_seconds,
            std::int64_t updates);
  void memory(std::string_view device, std::uint64_t peak_bytes, std::string_view how);
  std::optional<Setting> next();
  void close();

  Setting setting() const;
  bool enough() const;  // false in a forked child
  std::int64_t dropped() const { return dropped_; }

 private:
  enum class State { unopened, off, on };

  void open(bool session);
  bool is_mine() const;
  template <class Action>
  void unless_busy(const Action& action);
  void send_timed(client::Line line, bool is_step);
  void report_memory();
  bool ask();
  void take(const std::string& line);
  void take_setting(const client::Message& message);

  std::mutex mutex_;  // guards everything that is not atomic, except the settings
  client::Wire wire_;
  std::atomic<State> state_{State::unopened};
  std::atomic<pid_t> owner_{0};
  std::atomic<bool> enough_{false}, waiting_{false};
  std::atomic<std::int64_t> dropped_{0};
  bool session_ = false, answered_ = false, given_ = false;
  std::string memory_line_;
  std::optional<double> memory_sent_at_;
  mutable std::mutex setting_mutex_;
  Setting setting_, defaults_;
};

}  // namespace sweetspot
