#include "collective/gloo/plugin/meeting_store.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace sweetspot::collective {
namespace {

using Clock = std::chrono::steady_clock;
using Note = std::vector<char>;

constexpr std::chrono::seconds patience{120};
constexpr std::chrono::milliseconds between_tries{100};
constexpr std::uint32_t longest_note = 1 << 24;  // a connection may not be a rank

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int number() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  bool send_all(const void* from, std::size_t bytes) const {
    const char* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t sent = ::send(descriptor_, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += sent, bytes -= static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool receive_all(void* to, std::size_t bytes) const {
    return ::recv(descriptor_, to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }
  bool send_note(const Note& note) const {
    const auto size = static_cast<std::uint32_t>(note.size());
    return send_all(&size, sizeof size) && send_all(note.data(), note.size());
  }
  bool receive_note(Note& note) const {
    std::uint32_t size = 0;
    if (!receive_all(&size, sizeof size) || size > longest_note) return false;
    note.resize(size);
    return size == 0 || receive_all(note.data(), size);
  }

 private:
  int descriptor_;
};

// All socket addresses of a name and a port.
std::unique_ptr<addrinfo, void (*)(addrinfo*)> places(const char* address, const std::string& port,
                                                      int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address, port.c_str(), &hints, &found); error != 0)
    throw std::runtime_error(std::string("MASTER_ADDR ") + (address ? address : "") + ", port " +
                             port + ": " + gai_strerror(error));
  return {found, freeaddrinfo};
}

std::string numeric(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "127.0.0.1";
  return host.data();
}

// Rank 0's notes; each client is served by its own thread for as long as it stays connected.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Note> notes;

  void put(const std::string& key, Note note) {
    const std::lock_guard lock(mutex);
    notes[key] = std::move(note);
    changed.notify_all();
  }
  Note take(const std::string& key) {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, patience, [&] { return notes.contains(key); }))
      throw std::runtime_error("a rank did not come within two minutes");
    return notes[key];
  }
};

// A request is 's' with key and note, or 'g' with a key, which is answered with the note.
void serve(const std::shared_ptr<Board>& board, const Socket& socket) {
  char kind = 0;
  Note key, note;
  try {
    while (socket.receive_all(&kind, 1) && socket.receive_note(key)) {
      const std::string name(key.begin(), key.end());
      if (kind == 's' && socket.receive_note(note))
        board->put(name, note);
      else if (kind != 'g' || !socket.send_note(board->take(name)))
        return;
    }
  } catch (const std::runtime_error&) {  // its socket closes, and the peer reports why
  }
}

// On every interface, including IPv6 if present.
Socket listening_at(const std::string& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    const auto all = places(nullptr, port, AI_PASSIVE);
    for (const addrinfo* place = all.get(); place; place = place->ai_next) {
      if (place->ai_family != family) continue;
      Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int yes = 1, no = 0;
      setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (family == AF_INET6)
        setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
      if (socket.is_open() && bind(socket.number(), place->ai_addr, place->ai_addrlen) == 0 &&
          listen(socket.number(), SOMAXCONN) == 0)
        return socket;
    }
  }
  throw std::runtime_error("rank 0 cannot listen at port " + port + " (" + std::strerror(errno) +
                           "); set MASTER_PORT to a free one");
}

class Host final : public MeetingStore {
 public:
  Host(const std::string& address, const std::string& port) {
    const auto named = places(address.c_str(), port, 0);
    address_ = numeric(named->ai_addr, named->ai_addrlen);
    std::thread([board = board_, socket = listening_at(port)] {
      while (true) {
        const int visitor = accept4(socket.number(), nullptr, nullptr, SOCK_CLOEXEC);
        if (visitor < 0) return;
        std::thread([board, taken = Socket(visitor)] { serve(board, taken); }).detach();
      }
    }).detach();  // until the process ends: a peer may still be reading after we are connected
  }
  std::string own_address() const override { return address_; }
  void set(const std::string& key, const Note& note) override { board_->put(key, note); }
  Note get(const std::string& key) override { return board_->take(key); }

 private:
  std::string address_;
  std::shared_ptr<Board> board_ = std::make_shared<Board>();
};

Socket connected_to(const std::string& address, const std::string& port) {
  const auto give_up = Clock::now() + patience;
  do {
    const auto all = places(address.c_str(), port, 0);
    for (const addrinfo* place = all.get(); place; place = place->ai_next) {
      Socket socket(::socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (socket.is_open() && connect(socket.number(), place->ai_addr, place->ai_addrlen) == 0)
        return socket;
    }
    std::this_thread::sleep_for(between_tries);
  } while (Clock::now() < give_up);
  throw std::runtime_error("rank 0 was not met at " + address + ":" + port +
                           " within two minutes; is it up, and MASTER_ADDR and MASTER_PORT the "
                           "same for all?");
}

class Visitor final : public MeetingStore {
 public:
  Visitor(const std::string& address, const std::string& port)
      : socket_(connected_to(address, port)) {}
  std::string own_address() const override {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* address = reinterpret_cast<sockaddr*>(&own);
    if (getsockname(socket_.number(), address, &size) != 0) return "127.0.0.1";
    return numeric(address, size);
  }
  void set(const std::string& key, const Note& note) override {
    if (!ask('s', key) || !socket_.send_note(note)) throw lost();
  }
  Note get(const std::string& key) override {
    Note note;
    if (!ask('g', key) || !socket_.receive_note(note)) throw lost();
    return note;
  }

 private:
  bool ask(char kind, const std::string& key) const {
    return socket_.send_all(&kind, 1) && socket_.send_note({key.begin(), key.end()});
  }
  static std::runtime_error lost() {
    return std::runtime_error("rank 0 went away, or a rank did not come within two minutes");
  }

  Socket socket_;
};

}  // namespace

std::unique_ptr<MeetingStore> MeetingStore::host(const std::string& address,
                                                 const std::string& port) {
  return std::make_unique<Host>(address, port);
}

std::unique_ptr<MeetingStore> MeetingStore::visit(const std::string& address,
                                                  const std::string& port) {
  return std::make_unique<Visitor>(address, port);
}

}  // namespace sweetspot::collective
