#include "serve/http/outbox.h"

#include <sys/socket.h>

#include <cerrno>

namespace sweetspot::serve::http {

void Outbox::put(Bytes bytes) {
  if (bytes && !bytes->empty()) waiting_.push_back(std::move(bytes));
}

bool Outbox::flush(int socket) {
  while (!waiting_.empty()) {
    const std::string& text = *waiting_.front();
    const ssize_t count =
        ::send(socket, text.data() + sent_, text.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(count);
    if (sent_ < text.size()) continue;
    waiting_.pop_front();
    sent_ = 0;
  }
  return true;
}

}  // namespace sweetspot::serve::http
