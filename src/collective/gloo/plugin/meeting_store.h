#pragma once
#include <gloo/rendezvous/store.h>

#include <memory>
#include <string>
#include <vector>

namespace sweetspot::collective {

// Where ranks leave each other notes until they are connected: in the memory of rank 0, which
// listens at an address that all were told. std::runtime_error where nobody is met there.
class MeetingStore : public gloo::rendezvous::Store {
 public:
  // Of rank 0, which listens.
  static std::unique_ptr<MeetingStore> host(const std::string& address, const std::string& port);
  // Of the others, who wait for it to come.
  static std::unique_ptr<MeetingStore> visit(const std::string& address, const std::string& port);

  // An address of this machine under which the others reach it.
  virtual std::string own_address() const = 0;
  void wait(const std::vector<std::string>& keys) final {
    for (const std::string& key : keys) get(key);  // which waits
  }
};

}  // namespace sweetspot::collective
