#include "serve/http/site.h"

#include "core/error.h"

namespace sweetspot::serve::http {

Response answer(const Heard& heard, const Access& access, Site& site) {
  if (const Refusal* refusal = std::get_if<Refusal>(&heard))
    return sentence(refusal->status, refusal->sentence);
  const Request& request = std::get<Request>(heard);
  if (auto refused = access.refusal(request)) return *std::move(refused);
  // Browsers request it automatically, without the token; there is none.
  if (request.path == "/favicon.ico") return {.status = 204};
  if (!access.has_token(request))
    return sentence(403,
                    "The token is missing or wrong; open the URL that sweetspot serve printed.");
  try {
    return site.respond(request);
  } catch (const core::Error& error) {
    return sentence(500, error.what());
  } catch (const std::exception&) {
    return sentence(500, "This server failed; please report it with the command you ran.");
  }
}

}  // namespace sweetspot::serve::http
