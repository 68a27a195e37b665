#pragma once
#include <gloo/rendezvous/store.h>

#include <memory>
#include <string>
#include <vector>

namespace sweetspot::collective {

// A key-value store for the rendezvous, in the memory of rank 0, which listens at a known address.
// std::runtime_error if nobody is reached there.
class MeetingStore : public gloo::rendezvous::Store {
 public:
  // For rank 0, which listens.
  static std::unique_ptr<MeetingStore> host(const std::string& address, const std::string& port);
  // For the others, which wait until it listens.
  static std::unique_ptr<MeetingStore> visit(const std::string& address, const std::string& port);

  // An address at which the others reach this machine.
  virtual std::string own_address() const = 0;
  void wait(const std::vector<std::string>& keys) final {
    for (const std::string& key : keys) get(key);  // which waits
  }
};

}  // namespace sweetspot::collective
