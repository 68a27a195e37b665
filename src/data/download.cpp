#include "data/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/text.h"
#include "data/delivery.h"

namespace sweetspot::data {
namespace {

namespace fs = std::filesystem;
constexpr long least_bytes_per_second = 1000, most_redirections = 5;

// The file being written, and why writing stopped.
struct Target {
  fs::path path;
  core::Descriptor file;
  core::Bytes have = 0, size = 0;
  bool too_much = false;
  int write_error = 0;
  const std::function<void(core::Bytes)>& progress;
};

// libcurl's callback signature; any result other than `count` ends the transfer.
std::size_t take(const char* bytes, std::size_t, std::size_t count, void* user) {
  Target& target = *static_cast<Target*>(user);
  if (target.have + count > target.size) {
    target.too_much = true;
    return 0;
  }
  for (std::size_t done = 0; done < count;) {
    const ssize_t written = write(target.file.number(), bytes + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      target.write_error = errno;
      return 0;
    }
    done += static_cast<std::size_t>(written);
  }
  target.have += count;
  if (target.progress) target.progress(target.have);
  return count;
}

core::Bytes size_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : size;
}

std::string http_failure(CURL* curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return fmt::format("answered with status {}", status);
}

std::string told(CURL* curl, CURLcode code, const char* detail, const DownloadLimits& limits) {
  switch (code) {
    case CURLE_OK:
      return "";
    case CURLE_HTTP_RETURNED_ERROR:
      return http_failure(curl);
    case CURLE_OPERATION_TIMEDOUT: {
      double connected = 0;
      curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME, &connected);
      return connected > 0 ? fmt::format("sent next to nothing for {} s", limits.stall.count())
                           : fmt::format("was not reached within {} s", limits.connect.count());
    }
    case CURLE_FILESIZE_EXCEEDED:
      return "offers a file larger than the published one";
    case CURLE_TOO_MANY_REDIRECTS:
      return "redirects without an end";
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "redirects to something else than HTTPS";
    default:
      return core::printable(*detail ? detail : curl_easy_strerror(code));
  }
}

enum class Ending { done, broken_off, cannot_resume, failed };
struct Attempt {
  Ending ending;
  std::string reason;
};

void set_options(CURL* curl, const std::string& url, const Target& target,
                 const DownloadLimits& limits) {
  const bool is_plain = url.starts_with("http://");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_plain ? "http,https" : "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, most_redirections);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(limits.connect.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, least_bytes_per_second);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits.stall.count()));
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(target.size));
  if (target.have > 0)
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(target.have));
  // As in OpenSSL's own programs and Python: certificates of a company's proxy.
  if (const char* certificates = std::getenv("SSL_CERT_FILE"); certificates && *certificates)
    curl_easy_setopt(curl, CURLOPT_CAINFO, certificates);
}

Attempt attempt(const std::string& url, Target& target, const DownloadLimits& limits) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (started != CURLE_OK || !curl)
    throw core::MachineError("libcurl cannot be started; check its installation");
  std::array<char, CURL_ERROR_SIZE> detail{};
  set_options(curl.get(), url, target, limits);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &target);
  const CURLcode code = curl_easy_perform(curl.get());
  if (target.write_error != 0)
    fail_writing(target.path, std::generic_category().message(target.write_error));
  if (target.too_much)
    return {Ending::failed, fmt::format("sends more than the {} bytes of the published file",
                                        core::format_count(static_cast<double>(target.size)))};
  if (target.have == target.size) return {Ending::done, ""};
  if (code == CURLE_RANGE_ERROR)
    return {Ending::cannot_resume, "does not support resuming a download"};
  if (code == CURLE_OK || code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR)
    return {Ending::broken_off, fmt::format("broke off after {} of {} bytes",
                                            core::format_count(static_cast<double>(target.have)),
                                            core::format_count(static_cast<double>(target.size)))};
  return {Ending::failed, told(curl.get(), code, detail.data(), limits)};
}

Target open_target(const fs::path& path, core::Bytes size,
                   const std::function<void(core::Bytes)>& progress, bool from_the_start) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (from_the_start ? O_TRUNC : 0);
  Target target{path,    core::Descriptor(open(path.c_str(), flags, 0644)), 0, size, false, 0,
                progress};
  if (!target.file) fail_writing(path, std::generic_category().message(errno));
  target.have = size_of(path);
  return target;
}

}  // namespace

std::string download(const std::string& url, const fs::path& file, core::Bytes size,
                     const std::function<void(core::Bytes)>& progress,
                     const DownloadLimits& limits) {
  bool from_the_start = size_of(file) >= size, has_started_over = false;
  while (true) {
    Target target = open_target(file, size, progress, from_the_start);
    const core::Bytes before = target.have;
    const Attempt ended = attempt(url, target, limits);
    if (ended.ending == Ending::done) return "";
    if (target.too_much || target.have == 0) {  // nothing to resume
      std::error_code ignored;
      fs::remove(file, ignored);
      return ended.reason;
    }
    // As long as each attempt makes progress, continue.
    const bool resume = ended.ending == Ending::broken_off && target.have > before;
    const bool start_over = ended.ending == Ending::cannot_resume && !has_started_over;
    if (!resume && !start_over) return ended.reason;
    from_the_start = start_over;
    has_started_over = has_started_over || start_over;
  }
}

}  // namespace sweetspot::data
