#include <sweetspot/client.h>

#include "environment.h"
#include "link.h"

namespace sweetspot {
namespace {

// Errors in here must not affect the training.
template <class Link, class Action>
void silently(Link* link, const Action& action) noexcept {
  if (!link) return;
  try {
    try {
      action();
    } catch (...) {
      link->close();
    }
  } catch (...) {
  }
}

}  // namespace

Client::Client(Setting defaults) noexcept {
  try {
    link_ = std::make_unique<Link>(client::from_environment(std::move(defaults)));
  } catch (...) {
  }
}

Client::~Client() = default;

void Client::begin() noexcept {
  silently(link_.get(), [&] { link_->begin(); });
}

bool Client::step(std::optional<std::int64_t> samples, std::optional<double> data_wait_seconds,
                  std::int64_t updates) noexcept {
  silently(link_.get(), [&] { link_->step(samples, data_wait_seconds, updates); });
  return enough();
}

void Client::memory(std::string_view device, std::uint64_t peak_bytes,
                    std::string_view how) noexcept {
  silently(link_.get(), [&] { link_->memory(device, peak_bytes, how); });
}

std::optional<Setting> Client::next() noexcept {
  std::optional<Setting> setting;
  silently(link_.get(), [&] { setting = link_->next(); });
  return setting;
}

Setting Client::setting() const noexcept {
  Setting setting;
  silently(link_.get(), [&] { setting = link_->setting(); });
  return setting;
}

bool Client::enough() const noexcept { return link_ && link_->enough(); }
std::int64_t Client::dropped() const noexcept { return link_ ? link_->dropped() : 0; }

}  // namespace sweetspot
