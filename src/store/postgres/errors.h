#pragma once
#include <functional>
#include <string>

namespace sweetspot::store::postgres {

// Thrown where what is stored makes no sense.
struct Damaged {};

// Runs `work`; a failure of the server, or Damaged, becomes one sentence that names the database
// and the way out.
void guarded(const std::string& url, const std::function<void()>& work);

// InputError where the URL cannot be read, or tells a secret: the arguments of a program are seen
// by every user of its machine. Neither is shown.
void check_url(const std::string& url);

}  // namespace sweetspot::store::postgres
