// libsweetspot_gloo.so: the only code that is compiled against Gloo.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "collective/functions.h"
#include "collective/gloo/plugin/meeting_store.h"

namespace {

using sweetspot::collective::MeetingStore;
using sweetspot::collective::most_at_once;

// Ranks may pause for long between two steps; a lost one is detected by its closed connection.
constexpr std::chrono::hours timeout{24};

// Gloo's calls block, so a thread makes them, one after the other.
class Worker {
 public:
  explicit Worker(std::shared_ptr<gloo::Context> context)
      : context_(std::move(context)), thread_([this] { work(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  template <class Value>
  void begin_sum(int number, Value* values, std::size_t count) {
    done_[static_cast<std::size_t>(number)] = false;
    add([this, number, values, count] {
      gloo::AllreduceOptions options(context_);
      options.setOutput(values, count);
      options.setReduceFunction(gloo::AllreduceOptions::Func(
          static_cast<void (*)(void*, const void*, const void*, std::size_t)>(gloo::sum<Value>)));
      if (context_->size > 1 && count > 0) gloo::allreduce(options);
      done_[static_cast<std::size_t>(number)] = true;
    });
  }
  // 0 or 1; rethrows the thread's exception.
  int is_done(int number) {
    if (done_[static_cast<std::size_t>(number)]) return 1;
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    return 0;
  }
  void broadcast(float* values, std::size_t count, int root) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(values, count);
    options.setRoot(root);
    if (context_->size > 1 && count > 0) gloo::broadcast(options);
  }
  void barrier() {
    gloo::BarrierOptions options(context_);
    if (context_->size > 1) gloo::barrier(options);
  }

 private:
  void add(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      std::string failure;
      try {
        job();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      lock.lock();
      if (failure_.empty()) failure_ = failure;
    }
  }

  std::shared_ptr<gloo::Context> context_;
  std::array<std::atomic<bool>, most_at_once> done_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::string failure_;  // the first; every later call fails too
  bool ending_ = false;
  std::thread thread_;
};

SweetspotRanks table{};
std::unique_ptr<MeetingStore> store;
std::unique_ptr<Worker> worker;
std::string last_error;

// 0, or 1 with a message.
template <class Call>
int told(Call call) {
  try {
    call();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

int begin_all_reduce(int number, float* values, std::size_t count) {
  return told([&] { worker->begin_sum(number, values, count); });
}
int begin_sum(int number, double* values, std::size_t count) {
  return told([&] { worker->begin_sum(number, values, count); });
}
int is_done(int number, int* done) {
  return told([&] { *done = worker->is_done(number); });
}
int broadcast(float* values, std::size_t count, int root) {
  return told([&] { worker->broadcast(values, count, root); });
}
int progress() { return 0; }
void explain(int, char* text, std::size_t size) {
  std::snprintf(text, size, "%s", last_error.c_str());
}
// Waits for all ranks: the first to close would look lost.
void finish() {
  told([] { worker->barrier(); });
  worker.reset();
}
// Its connections close, which the others notice.
void abandon(int exit_code) { _exit(exit_code); }

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}
int number(const char* name, int least, int most) {
  const std::string text = variable(name);
  std::size_t end = 0;
  int value = least - 1;
  try {
    value = std::stoi(text, &end);
  } catch (const std::exception&) {
  }
  if (value < least || value > most || end != text.size())
    throw std::runtime_error(std::string(name) + " '" + text + "' is no number from " +
                             std::to_string(least) + " to " + std::to_string(most));
  return value;
}

// The number of ranks that report the same host name.
int ranks_here(int rank, int size) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::vector<char> own(host.begin(), host.end());
  store->set("host of " + std::to_string(rank), own);
  int here = 0;
  for (int other = 0; other < size; ++other)
    here += store->get("host of " + std::to_string(other)) == own;
  return here;
}

void join() {
  constexpr int most_ranks = 1 << 16, last_port = 65'535;
  const int size = number("WORLD_SIZE", 1, most_ranks);
  const int rank = number("RANK", 0, size - 1);
  int port = number("MASTER_PORT", 1, last_port - 1);
  // torchrun's own agent listens here for PyTorch's ranks; use the next port.
  if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True") ++port;
  const std::string address = variable("MASTER_ADDR");
  store = rank == 0 ? MeetingStore::host(address, std::to_string(port))
                    : MeetingStore::visit(address, std::to_string(port));
  gloo::transport::tcp::attr place;
  place.hostname = store->own_address();
  auto device = gloo::transport::tcp::CreateDevice(place);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->setTimeout(timeout);
  context->connectFullMesh(*store, device);
  table.rank = rank, table.size = size, table.local_size = ranks_here(rank, size);
  worker = std::make_unique<Worker>(context);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SweetspotRanks* sweetspot_join(
    char* reason, std::size_t size) {
  if (told(join) != 0) {
    explain(1, reason, size);
    return nullptr;
  }
  table.version = sweetspot::collective::ranks_table_version;
  table.begin_all_reduce = begin_all_reduce, table.begin_sum = begin_sum, table.is_done = is_done;
  table.broadcast = broadcast, table.progress = progress;
  table.explain = explain, table.finish = finish, table.abandon = abandon;
  return &table;
}
