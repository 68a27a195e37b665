#pragma once
#include <deque>

#include "serve/http/response.h"

namespace sweetspot::serve::http {

// What is still to be sent to one reader. It holds no copies: only where it is in what all share.
class Outbox {
 public:
  void put(Bytes bytes);
  bool is_empty() const { return waiting_.empty(); }
  // As much as the socket takes now; false when its reader is gone.
  bool flush(int socket);

 private:
  std::deque<Bytes> waiting_;
  std::size_t sent_ = 0;  // of the first
};

}  // namespace sweetspot::serve::http
