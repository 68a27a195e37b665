#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace sweetspot::serve::http {

// Where to listen: an address of this machine, never a name that somebody else resolves.
struct Place {
  std::string address = "127.0.0.1";  // or another IPv4 or IPv6 address, or "localhost"
  std::uint16_t port = 0;             // 0: one that is free
};
// InputError if the address is invalid.
bool is_loopback(const std::string& address);

struct Listener {
  core::Descriptor socket;
  std::string host;  // "127.0.0.1:8321", as in a URL
  // The Host fields for this address: the address with its port, localhost for the loopback, and
  // for "every address" each address of this machine, and its name.
  std::vector<std::string> hosts;
};
// InputError if the address is not ours, MachineError if the port is taken.
Listener listen(const Place& place);

}  // namespace sweetspot::serve::http
