// What is parsed as a request, and what is not.
#include "serve/http/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sweetspot::tests {
namespace {

using serve::http::HeadReader;
using serve::http::Heard;
using serve::http::Refusal;
using serve::http::Request;
using testing::ElementsAre;
using testing::Pair;

// In one piece, and byte by byte: both must give the same result.
std::optional<Heard> hear(const std::string& bytes) {
  HeadReader whole, dripped;
  std::optional<Heard> dripping;
  for (std::size_t i = 0; i < bytes.size() && !dripping; ++i)
    dripping = dripped.feed(bytes.substr(i, 1));
  const std::optional<Heard> at_once = whole.feed(bytes);
  EXPECT_EQ(at_once.has_value(), dripping.has_value()) << bytes;
  EXPECT_EQ(at_once && std::holds_alternative<Request>(*at_once),
            dripping && std::holds_alternative<Request>(*dripping))
      << bytes;
  return at_once;
}

Request request_of(const std::string& bytes) {
  const auto heard = hear(bytes);
  if (!heard || !std::holds_alternative<Request>(*heard)) {
    ADD_FAILURE() << "refused: " << bytes;
    return {};
  }
  return std::get<Request>(*heard);
}

int refusal_of(const std::string& bytes) {
  const auto heard = hear(bytes);
  if (!heard || !std::holds_alternative<Refusal>(*heard)) return 0;
  EXPECT_FALSE(std::get<Refusal>(*heard).sentence.empty());
  return std::get<Refusal>(*heard).status;
}

// The request line and Host, followed by these fields.
std::string with(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string of_target(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

TEST(Request, IsReadWithWhatItNeeds) {
  const Request request = request_of(
      "GET /events?study=3&token=a-B_9 HTTP/1.1\r\nHOST:  LocalHost:80 \r\nAccept: */*\r\n"
      "Last-Event-ID: 7f\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n\r\n");
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/events");
  EXPECT_THAT(request.query, ElementsAre(Pair("study", "3"), Pair("token", "a-B_9")));
  EXPECT_EQ(request.host, "localhost:80");
  EXPECT_EQ(request.last_event_id, "7f");
  EXPECT_EQ(request.fetch_site, "cross-site");
  EXPECT_EQ(request.fetch_mode, "cors");
  EXPECT_FALSE(request.has_body);
}

TEST(Request, IsNotThereBeforeItsEnd) {
  const std::string whole = with("A: b\r\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    HeadReader reader;
    EXPECT_FALSE(reader.feed(whole.substr(0, size))) << size;
  }
}

TEST(Request, PathsAreNeverDecoded) {
  for (const char* path : {"/%2e%2e/etc/passwd", "/%252e%252e/", "/../x", "/a\\b", "//", "/%00"})
    EXPECT_EQ(request_of(of_target(path)).path, path);
}

TEST(Request, TargetsHaveToBePaths) {
  for (const char* target : {"http://a/", "a", "*", "a:80", "/#x", "/\x80", ""})
    EXPECT_EQ(refusal_of(of_target(target)), 400) << target;
}

TEST(Request, QueriesAreWordsAndEachOnce) {
  for (const char* query : {"token", "token=", "=x", "&", "a=1&&b=2", "token=%41", "token=a+b",
                            "token=a=b", "To=1", "a=1&a=1", "?", "a=../x"})
    EXPECT_EQ(refusal_of(of_target(std::string("/?") + query)), 400) << query;
  EXPECT_TRUE(request_of(of_target("/?")).query.empty());
}

TEST(Request, LinesHaveOneForm) {
  EXPECT_EQ(refusal_of("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("G@T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / http/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.10\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(request_of("GET / HTTP/1.0\r\nHost: a\r\n\r\n").path, "/");
}

TEST(Request, LoneLineFeedsReturnsAndControlsAreRefusedAsTheyCome) {
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: a\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\rHost"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\r"), 400);
  EXPECT_EQ(refusal_of(std::string("GET /\0", 6)), 400);
  EXPECT_EQ(refusal_of("GET /\x1b"), 400);
  EXPECT_EQ(refusal_of("GET /\x7f"), 400);
  EXPECT_EQ(refusal_of("\x16\x03\x01"), 400);  // the hello of TLS
}

TEST(Request, FieldsHaveOneForm) {
  EXPECT_EQ(refusal_of(with("A : b\r\n")), 400);
  EXPECT_EQ(refusal_of(with(" folded: b\r\n")), 400);
  EXPECT_EQ(refusal_of(with("A: b\r\n\tfolded\r\n")), 400);
  EXPECT_EQ(refusal_of(with("no colon\r\n")), 400);
  EXPECT_EQ(refusal_of(with(": b\r\n")), 400);
  EXPECT_EQ(refusal_of(with("A\x80: b\r\n")), 400);
  EXPECT_EQ(request_of(with("A:\r\nB: \xc3\xa9\t!\r\n")).path, "/");
}

TEST(Request, HostIsThereOnce) {
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.0\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of(with("Host: a\r\n")), 400);
  EXPECT_EQ(refusal_of(with("hOST: b\r\n")), 400);
}

TEST(Request, LengthsAreNotAmbiguous) {
  EXPECT_EQ(refusal_of(with("Content-Length: 1\r\nContent-Length: 1\r\n")), 400);
  EXPECT_EQ(refusal_of(with("Content-Length: 0\r\ncontent-length: 5\r\n")), 400);
  EXPECT_EQ(refusal_of(with("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(refusal_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")), 400);
  for (const char* length : {"", "-1", "+1", "1, 1", "0x1", "1 1", "\xb2"})
    EXPECT_EQ(refusal_of(with(std::string("Content-Length: ") + length + "\r\n")), 400) << length;
  EXPECT_TRUE(request_of(with("Content-Length: 1\r\n")).has_body);
  EXPECT_TRUE(request_of(with("Content-Length: 00\r\n")).has_body);
  EXPECT_TRUE(request_of(with("Content-Length: 99999999999\r\n")).has_body);
  EXPECT_TRUE(request_of(with("Transfer-Encoding: chunked\r\n")).has_body);
  EXPECT_FALSE(request_of(with("Content-Length: 0\r\n")).has_body);
}

TEST(Request, SizesAreBounded) {
  EXPECT_EQ(refusal_of("GET /" + std::string(HeadReader::most_line_bytes, 'a')), 414);
  EXPECT_EQ(refusal_of(with("A: " + std::string(HeadReader::most_bytes, 'a'))), 431);
  std::string flood;
  for (std::size_t i = 0; i < HeadReader::most_fields; ++i) flood += "A: b\r\n";
  EXPECT_EQ(refusal_of(with(flood)), 431);  // Host is one more
  EXPECT_EQ(request_of(with(flood.substr(6))).path, "/");
}

}  // namespace
}  // namespace sweetspot::tests
