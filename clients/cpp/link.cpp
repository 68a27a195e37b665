#include "link.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "environment.h"

namespace sweetspot {
namespace {

constexpr double seconds_between_memory_reports = 1;

// CLOCK_MONOTONIC, which sweetspot reads too.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// A thread that calls while another one sends does not wait: its line is counted as dropped. One
// that calls while another waits for a setting has nothing to report.
template <class Action>
void Client::Link::unless_busy(const Action& action) {
  if (!is_mine()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock)
    action();
  else if (!waiting_)
    ++dropped_;
}

bool Client::Link::is_mine() const {
  return state_ != State::off && (owner_ == 0 || owner_ == getpid());
}

void Client::Link::begin() {
  unless_busy([&] {
    open(false);
    send_timed(client::Line("begin"), false);
  });
}

void Client::Link::step(std::optional<std::int64_t> samples,
                        std::optional<double> data_wait_seconds, std::int64_t updates) {
  unless_busy([&] {
    open(false);
    client::Line line("step");
    if (samples) line.add("samples", *samples);
    if (updates != 1) line.add("updates", updates);
    if (data_wait_seconds) line.add("data_wait_seconds", *data_wait_seconds);
    send_timed(std::move(line), true);
    report_memory();
    if (session_)
      for (const std::string& received : wire_.receive(false)) take(received);
    if (!wire_.open()) close();
  });
}

void Client::Link::memory(std::string_view device, std::uint64_t peak_bytes, std::string_view how) {
  if (!is_mine()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // the next one comes soon
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  memory_line_ = client::Line("memory")
                     .add("device", device)
                     .add("peak_bytes", static_cast<std::int64_t>(std::min(peak_bytes, most)))
                     .add("how", how)
                     .end();
}

std::optional<Setting> Client::Link::next() {
  if (owner_ != 0 && owner_ != getpid()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  open(client::is_alone());
  if (session_) return ask() ? std::optional(setting()) : std::nullopt;
  if (given_) return std::nullopt;
  given_ = true;
  send_timed(client::Line("begin"), false);
  return setting();
}

void Client::Link::close() {
  enough_ = session_;
  wire_.close();
  state_ = State::off;
}

bool Client::Link::enough() const { return enough_ && owner_ == getpid(); }

Setting Client::Link::setting() const {
  const std::lock_guard lock(setting_mutex_);
  return setting_;
}

void Client::Link::open(bool session) {
  if (state_ != State::unopened) return;
  owner_ = getpid();
  const char* path = std::getenv("SWEETSPOT_SOCKET");
  if (!path || !*path || !client::is_first_rank() || !wire_.connect(path)) {
    state_ = State::off;
    return;
  }
  session_ = session;
  state_ = State::on;
  wire_.send(client::Line("hello")
                 .add("protocol", std::int64_t{1})
                 .add("client", std::string_view("cpp"))
                 .add("client_version", std::string_view(SWEETSPOT_VERSION))
                 .add("pid", std::int64_t{getpid()})
                 .add("session", session)
                 .end());
}

void Client::Link::send_timed(client::Line line, bool is_step) {
  if (state_ != State::on) return;
  line.add("at_seconds", now());
  if (is_step) line.add("dropped", dropped_.load());
  if (!wire_.send(line.end())) ++dropped_;
}

void Client::Link::report_memory() {
  if (memory_line_.empty()) return;
  const double at = now();
  if (memory_sent_at_ && at - *memory_sent_at_ < seconds_between_memory_reports) return;
  if (wire_.send(memory_line_)) memory_sent_at_ = at;
}

// The only place where it waits.
bool Client::Link::ask() {
  if (!wire_.open()) return false;
  const std::string lines = memory_line_ + client::Line("ready").end();
  memory_line_.clear();
  memory_sent_at_.reset();
  answered_ = false;
  waiting_ = true;
  if (wire_.send_waiting(lines))
    while (wire_.open() && !answered_)
      for (const std::string& line : wire_.receive(true)) take(line);
  waiting_ = false;
  if (!wire_.open()) {
    close();
    return false;
  }
  send_timed(client::Line("begin"), false);
  return true;
}

void Client::Link::take(const std::string& line) {
  const auto message = client::Message::parse(line);
  const auto type = message ? message->text("type") : std::nullopt;
  if (type == "enough")
    enough_ = true;
  else if (type == "setting" && waiting_)
    take_setting(*message);
  else if (type == "done")
    close();
}

void Client::Link::take_setting(const client::Message& message) {
  const auto batch = message.whole("batch", 1);
  if (!batch) return close();  // nothing to train, and no second answer to wait for
  Setting asked = defaults_;
  asked.batch = *batch;
  asked.accumulation = message.whole("accumulation", 1).value_or(1);
  const auto micro_batch = message.whole("micro_batch", 1);
  asked.micro_batch = micro_batch.value_or(0);
  client::complete(asked, micro_batch.has_value());
  asked.precision = message.text("precision").value_or(asked.precision);
  const std::int64_t workers = message.whole("workers", 0).value_or(asked.workers);
  asked.workers = static_cast<int>(std::min<std::int64_t>(workers, 1 << 20));
  asked.learning_rate = message.number("learning_rate").value_or(asked.learning_rate);
  const std::lock_guard lock(setting_mutex_);
  setting_ = asked;
  enough_ = false, answered_ = true;
}

}  // namespace sweetspot
